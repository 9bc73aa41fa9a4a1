//! The page for people (R13.3): its document, style and modules, from `crates/http/web`. The files hold no data, so
//! they are served without a token, like the exchange of a code; the page fetches its data with a token. Nothing is
//! built, and nothing is loaded from elsewhere: the content policy sent with each file tells the browser so.

use axum::Router;
use axum::body::Body;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderMap, HeaderName, HeaderValue, REFERRER_POLICY,
};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::Api;
use crate::tag;

/// Content policy of the page: only its own files, no text as script or markup, and no frame around it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

/// A file of the page.
pub struct Asset {
    pub path: &'static str,
    pub kind: &'static str,
    pub bytes: &'static [u8],
}

const SCRIPT: &str = "text/javascript; charset=utf-8";

macro_rules! asset {
    ($path:literal, $kind:expr, $file:literal) => {
        Asset { path: $path, kind: $kind, bytes: include_bytes!(concat!("../web/", $file)) }
    };
}

/// Every file of the page.
pub const ASSETS: &[Asset] = &[
    asset!("/", "text/html; charset=utf-8", "index.html"),
    asset!("/web/app.css", "text/css; charset=utf-8", "app.css"),
    asset!("/web/vendor.js", SCRIPT, "vendor.js"),
    asset!("/web/vendor.licences.txt", "text/plain; charset=utf-8", "vendor.licences.txt"),
    asset!("/web/app.js", SCRIPT, "app.js"),
    asset!("/web/api.js", SCRIPT, "api.js"),
    asset!("/web/address.js", SCRIPT, "address.js"),
    asset!("/web/code.js", SCRIPT, "code.js"),
    asset!("/web/el.js", SCRIPT, "el.js"),
    asset!("/web/keys.js", SCRIPT, "keys.js"),
    asset!("/web/palette.js", SCRIPT, "palette.js"),
    asset!("/web/parts.js", SCRIPT, "parts.js"),
    asset!("/web/words.js", SCRIPT, "words.js"),
    asset!("/web/places/now.js", SCRIPT, "places/now.js"),
    asset!("/web/places/search.js", SCRIPT, "places/search.js"),
    asset!("/web/places/timeline.js", SCRIPT, "places/timeline.js"),
    asset!("/web/places/reader.js", SCRIPT, "places/reader.js"),
    asset!("/web/places/threads.js", SCRIPT, "places/threads.js"),
    asset!("/web/places/node.js", SCRIPT, "places/node.js"),
    asset!("/web/places/review.js", SCRIPT, "places/review.js"),
    asset!("/web/places/loops.js", SCRIPT, "places/loops.js"),
    asset!("/web/places/memory.js", SCRIPT, "places/memory.js"),
    asset!("/web/places/given.js", SCRIPT, "places/given.js"),
    asset!("/web/places/health.js", SCRIPT, "places/health.js"),
];

/// Returns whether a request is for a file of the page.
pub fn is_asked_for(method: &Method, path: &str) -> bool {
    matches!(*method, Method::GET | Method::HEAD) && ASSETS.iter().any(|asset| asset.path == path)
}

/// Returns the routes of the page's files.
pub fn routes() -> Router<Api> {
    ASSETS.iter().fold(Router::new(), |router, asset| {
        router.route(asset.path, get(move |headers: HeaderMap| async move { answer(asset, &headers) }))
    })
}

fn answer(asset: &'static Asset, asked: &HeaderMap) -> Response {
    let tag = tag::of_content(asset.bytes);
    let mut response = match tag::is_known(asked, &tag) {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => Response::new(Body::from(asset.bytes)),
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
