//! The page for people (R13.3): its document, style and modules, from `crates/http/web`. The files hold no data, so
//! they are served without a token, like the exchange of a code; the page fetches its data with a token. Nothing is
//! loaded from elsewhere: the content policy sent with each file tells the browser so. The modules are delivered
//! without what only their readers need ([`script`]); nothing else is built.

use std::borrow::Cow;
use std::sync::LazyLock;

use axum::Router;
use axum::body::Body;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderMap, HeaderName, HeaderValue, REFERRER_POLICY,
};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::Api;
use crate::script;
use crate::tag;

/// Content policy of the page: only its own files, no text as script or markup, and no frame around it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

/// A file of the page.
pub struct Asset {
    pub path: &'static str,
    pub kind: &'static str,
    pub bytes: Cow<'static, [u8]>,
}

const SCRIPT: &str = "text/javascript; charset=utf-8";

macro_rules! asset {
    ($file:literal, $kind:expr) => {
        (concat!("/web/", $file), $kind, include_str!(concat!("../web/", $file)))
    };
}

/// Every file of the page, as it is written: path, type, text.
const WRITTEN: &[(&str, &str, &str)] = &[
    ("/", "text/html; charset=utf-8", include_str!("../web/index.html")),
    asset!("app.css", "text/css; charset=utf-8"),
    asset!("vendor.js", SCRIPT),
    asset!("vendor.licences.txt", "text/plain; charset=utf-8"),
    asset!("app.js", SCRIPT),
    asset!("api.js", SCRIPT),
    asset!("address.js", SCRIPT),
    asset!("code.js", SCRIPT),
    asset!("el.js", SCRIPT),
    asset!("keys.js", SCRIPT),
    asset!("palette.js", SCRIPT),
    asset!("parts.js", SCRIPT),
    asset!("words.js", SCRIPT),
    asset!("places/now.js", SCRIPT),
    asset!("places/search.js", SCRIPT),
    asset!("places/timeline.js", SCRIPT),
    asset!("places/reader.js", SCRIPT),
    asset!("places/threads.js", SCRIPT),
    asset!("places/node.js", SCRIPT),
    asset!("places/review.js", SCRIPT),
    asset!("places/loops.js", SCRIPT),
    asset!("places/memory.js", SCRIPT),
    asset!("places/given.js", SCRIPT),
    asset!("places/health.js", SCRIPT),
];

/// The library, which comes in the form it is delivered in.
const VENDOR: &str = "/web/vendor.js";

/// Returns every file of the page, as it is delivered.
pub fn assets() -> &'static [Asset] {
    static DELIVERED: LazyLock<Vec<Asset>> = LazyLock::new(|| {
        let deliver = |&(path, kind, text): &(&'static str, &'static str, &'static str)| {
            let shorter = if kind == SCRIPT && path != VENDOR { script::delivered(text) } else { None };
            let bytes = shorter.map_or(Cow::Borrowed(text.as_bytes()), |text| Cow::Owned(text.into_bytes()));
            Asset { path, kind, bytes }
        };
        WRITTEN.iter().map(deliver).collect()
    });
    &DELIVERED
}

/// Returns whether a request is for a file of the page.
pub fn is_asked_for(method: &Method, path: &str) -> bool {
    matches!(*method, Method::GET | Method::HEAD) && WRITTEN.iter().any(|(known, ..)| *known == path)
}

/// Returns the routes of the page's files.
pub fn routes() -> Router<Api> {
    assets().iter().fold(Router::new(), |router, asset| {
        router.route(asset.path, get(move |headers: HeaderMap| async move { answer(asset, &headers) }))
    })
}

fn answer(asset: &'static Asset, asked: &HeaderMap) -> Response {
    let tag = tag::of_content(&asset.bytes);
    let mut response = match tag::is_known(asked, &tag) {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => Response::new(Body::from(&*asset.bytes)),
    };
    let headers = response.headers_mut();
    let fixed = [
        (CONTENT_TYPE, asset.kind),
        (CACHE_CONTROL, "no-cache"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(ETAG, tag);
    }
    response
}
