//! Pages of a list: its items and an opaque cursor that names the item behind which the next page begins. A page has no
//! total count: counting would mean reading the whole list. An item that exists while all pages are read is on exactly
//! one of them.

use std::cmp::Reverse;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::problem::Problem;
use heirloom_engine::error::Error;

/// Number of items of a page if the request sets no limit.
const USUAL: usize = 50;
/// Maximum number of items of a page.
const MOST: usize = 500;

/// One page of a list.
#[derive(Clone, Serialize, JsonSchema, Debug)]
#[schemars(rename = "{T}Page")]
pub struct Page<T> {
    pub items: Vec<T>,
    /// Cursor of the next page, to be sent as `cursor`; null on the last page.
    pub next: Option<String>,
}

/// Returns the page size for a requested limit. `Usage` for 0 or for more than `MOST`.
pub fn size(limit: Option<u16>) -> Result<usize, Problem> {
    let limit = limit.map_or(USUAL, usize::from);
    match (1..=MOST).contains(&limit) {
        true => Ok(limit),
        false => Err(Error::usage(format!("limit is 1 to {MOST}")).into()),
    }
}

/// Returns the cursor of the list `of` that points behind the item with this key.
pub fn cursor<K: Serialize>(of: &str, key: &K) -> String {
    URL_SAFE_NO_PAD.encode(serde_json::to_vec(&(of, key)).unwrap_or_default())
}

/// Decodes a cursor of the list `of` into the key it holds.
pub fn key<K: DeserializeOwned>(of: &str, cursor: Option<&str>) -> Result<Option<K>, Problem> {
    let Some(cursor) = cursor else { return Ok(None) };
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok();
    let read: Option<(String, K)> = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    match read {
        Some((list, key)) if list == of => Ok(Some(key)),
        _ => Err(Error::usage("this cursor is from no page of this list").hint("leave it out to begin anew").into()),
    }
}

/// Makes a page from items that are already in the list's order. The caller reads one item more than fits, which shows
/// whether another page follows.
pub fn of_more<T, K: Serialize>(of: &str, mut items: Vec<T>, size: usize, key: impl Fn(&T) -> K) -> Page<T> {
    let more = items.len() > size;
    items.truncate(size);
    let next = items.last().filter(|_| more).map(|last| cursor(of, &key(last)));
    Page { items, next }
}

/// Sort key of most lists, greatest first. None of its parts changes while the item stays the same, and the last part
/// is unique to the item.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Debug)]
pub struct Rank(pub bool, pub String, pub String);

/// Makes a page of a list that was read whole, sorted by rank, greatest first.
pub fn of_all<T, K: Ord + Serialize + DeserializeOwned>(
    of: &str,
    mut items: Vec<T>,
    (limit, after): (Option<u16>, Option<&str>),
    rank: impl Fn(&T) -> K,
) -> Result<Page<T>, Problem> {
    let (size, after) = (size(limit)?, key::<K>(of, after)?);
    items.sort_by_cached_key(|item| Reverse(rank(item)));
    let rest = items.into_iter().filter(|item| after.as_ref().is_none_or(|after| rank(item) < *after));
    Ok(of_more(of, rest.take(size + 1).collect(), size, rank))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_have_each_item_once_whatever_is_added_or_taken_meanwhile() {
        let rank = |n: &u32| Rank(false, format!("{:04}", n / 10), format!("{n:04}"));
        let mut all: Vec<u32> = (0..100).collect();
        let (mut seen, mut after): (Vec<u32>, Option<String>) = (Vec::new(), None);
        loop {
            let page = of_all("t", all.clone(), (Some(7), after.as_deref()), rank).unwrap();
            seen.extend(&page.items);
            // One item is added at the top, and one of the items already returned is removed.
            all.push(1_000 + seen.len() as u32);
            all.retain(|n| *n != seen[0]);
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(seen, (0..100).rev().collect::<Vec<u32>>());
    }

    #[test]
    fn a_cursor_of_another_list_or_of_nobody_is_refused() {
        let good = cursor("loops", &Rank(true, "a".into(), "b".into()));
        assert_eq!(key("loops", Some(&good)).unwrap(), Some(Rank(true, "a".into(), "b".into())));
        for (of, text) in [("memory", good.as_str()), ("loops", "bm9uZQ"), ("loops", "%%"), ("loops", "")] {
            let problem = key::<Rank>(of, Some(text)).unwrap_err();
            assert_eq!(problem.status, 422, "{of} {text}");
        }
        assert_eq!(size(Some(0)).unwrap_err().status, 422);
        assert_eq!(size(Some(501)).unwrap_err().status, 422);
    }
}
