//! Pages of a list: its items and a cursor, which is opaque and says behind which item the next page begins. There is no
//! number of all: it would cost reading all. An item that is there from the first page to the last is in exactly one.

use std::cmp::Reverse;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::problem::Problem;
use heirloom_engine::error::Error;

/// How many items a page has where nothing is said.
const USUAL: usize = 50;
/// The most items of a page.
const MOST: usize = 500;

/// Some items of a list.
#[derive(Clone, Serialize, JsonSchema, Debug)]
#[schemars(rename = "{T}Page")]
pub struct Page<T> {
    pub items: Vec<T>,
    /// Sent as `cursor`, it gives the next page. Null: this was the last one.
    pub next: Option<String>,
}

/// How many items were asked for. `Usage` for none, or for too many.
pub fn size(limit: Option<u16>) -> Result<usize, Problem> {
    let limit = limit.map_or(USUAL, usize::from);
    match (1..=MOST).contains(&limit) {
        true => Ok(limit),
        false => Err(Error::usage(format!("limit is 1 to {MOST}")).into()),
    }
}

/// A cursor of the list `of`, behind the item of this key.
pub fn cursor<K: Serialize>(of: &str, key: &K) -> String {
    URL_SAFE_NO_PAD.encode(serde_json::to_vec(&(of, key)).unwrap_or_default())
}

/// The key a cursor of the list `of` stands for.
pub fn key<K: DeserializeOwned>(of: &str, cursor: Option<&str>) -> Result<Option<K>, Problem> {
    let Some(cursor) = cursor else { return Ok(None) };
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok();
    let read: Option<(String, K)> = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    match read {
        Some((list, key)) if list == of => Ok(Some(key)),
        _ => Err(Error::usage("this cursor is from no page of this list").hint("leave it out to begin anew").into()),
    }
}

/// A page of items that were read one more than fits, in the list's order.
pub fn of_more<T, K: Serialize>(of: &str, mut items: Vec<T>, size: usize, key: impl Fn(&T) -> K) -> Page<T> {
    let more = items.len() > size;
    items.truncate(size);
    let next = items.last().filter(|_| more).map(|last| cursor(of, &key(last)));
    Page { items, next }
}

/// How most lists are ordered: the greatest first. Nothing in it changes while the item stays what it is, and the last
/// part is the item's alone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Debug)]
pub struct Rank(pub bool, pub String, pub String);

/// A page of a list that was read whole, greatest rank first.
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
            // One is added at the top, one of those that were given goes.
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
