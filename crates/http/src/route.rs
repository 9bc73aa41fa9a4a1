//! A route: a method, a path, its parameters, its answer and the function that serves it. The description and the
//! function are one value, so that every served route is in the OpenAPI document.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{Extension, Query, RawPathParams, Request, State};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, ETAG};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter, on};
use heirloom_engine::engine::Engine;
use http_body_util::BodyExt as _;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Api;
use crate::concurrency::Kind;
use crate::guard::Asker;
use crate::problem::{Problem, Wrong};
use crate::tag::{self, Tag};

/// Maximum size of a request body, except for hooks and appended lines.
pub const BODY: usize = 1 << 20;
/// Maximum size of a hook's payload, and of the lines of one append.
pub const LARGE_BODY: usize = 16 << 20;

/// Function that makes the schema of a type.
pub type Shape = fn(&mut SchemaGenerator) -> Schema;

/// Body a route expects.
pub enum Takes {
    Nothing,
    Json(Shape),
    /// Raw bytes: their media type, and a description.
    Bytes(&'static str, &'static str),
}

/// Body a route answers with.
pub enum Gives {
    Json(Shape),
    /// Text or bytes: their media type, and a description.
    Other(&'static str, &'static str),
}

/// One route: its description and the function that serves it.
pub struct Route {
    pub method: Method,
    pub path: &'static str,
    /// Name of the operation in generated clients.
    pub name: &'static str,
    /// Summary in one sentence.
    pub about: &'static str,
    pub kind: Kind,
    pub tag: Tag,
    /// True if the answer shows visible files, which a person may have edited a moment ago.
    pub of_files: bool,
    /// True if an edit must name the state it is based on (`If-Match`).
    pub conditional: bool,
    pub query: Option<Shape>,
    pub takes: Takes,
    pub gives: Gives,
    pub limit: usize,
    serve: Serve,
}

type Call = dyn Fn(&Asked) -> Result<Vec<u8>, Problem> + Send + Sync;

enum Serve {
    /// Runs on a blocking thread, within the limits of its kind.
    Call(Arc<Call>),
    /// Runs in the event loop.
    Raw(fn() -> MethodRouter<Api>),
}

/// A request, as the function of a route gets it.
pub struct Asked {
    /// The engine, acting for the agent asked for and recording the caller's name in the audit.
    pub engine: Engine,
    pub asker: Asker,
    pub api: Api,
    pub body: Bytes,
    path: Vec<(String, String)>,
    uri: Uri,
    /// Value of `If-Match`: the state an edit is based on.
    rests_on: Option<String>,
}

/// Query or body without fields.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

impl Asked {
    /// Returns the part of the path with this name.
    pub fn at(&self, name: &str) -> &str {
        self.path.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    fn query<Q: DeserializeOwned>(&self) -> Result<Q, Problem> {
        match Query::<Q>::try_from_uri(&self.uri) {
            Ok(Query(query)) => Ok(query),
            Err(e) => {
                let text = e.body_text();
                let what = text.strip_prefix("Failed to deserialize query string: ").unwrap_or(&text);
                Err(heirloom_engine::error::Error::usage(what)
                    .hint("the keys of each path are in /v1/openapi.json")
                    .into())
            }
        }
    }

    fn json<B: DeserializeOwned>(&self) -> Result<B, Problem> {
        let body: &[u8] = if self.body.is_empty() { b"{}" } else { &self.body };
        serde_json::from_slice(body).map_err(|e| match e.classify() {
            serde_json::error::Category::Data => {
                heirloom_engine::error::Error::usage(e.to_string()).hint("the bodies are in /v1/openapi.json").into()
            }
            _ => Problem::of(Wrong::Malformed, format!("the body is no JSON: {e}")),
        })
    }

    /// Refuses an edit that is not based on `current`, which is what the `GET` of the thing answers. 428 if the request
    /// has no `If-Match`; 412, with the current state, if its tag is another one.
    pub fn must_rest_on(&self, current: &impl Serialize) -> Result<(), Problem> {
        let body = bytes_of(current)?;
        let tag = tag::of_content(&body);
        match &self.rests_on {
            None => Err(Problem::of(Wrong::Unconditional, "an edit needs If-Match")),
            Some(list) if tag::is_in(list, &tag) => Ok(()),
            Some(_) => Err(Problem::changed(&tag, serde_json::from_slice(&body).unwrap_or_default())),
        }
    }
}

/// Serialises a report as it is sent.
fn bytes_of(report: &impl Serialize) -> Result<Vec<u8>, Problem> {
    serde_json::to_vec(report).map_err(|_| Problem::stopped())
}

/// Makes a `GET` route, which reads only.
pub fn get<Q, R>(
    path: &'static str,
    name: &'static str,
    about: &'static str,
    f: impl Fn(&Asked, Q) -> Result<R, Problem> + Send + Sync + 'static,
) -> Route
where
    Q: DeserializeOwned + JsonSchema,
    R: Serialize + JsonSchema,
{
    Route {
        method: Method::GET,
        path,
        name,
        about,
        kind: Kind::Reads,
        tag: Tag::None,
        of_files: false,
        conditional: false,
        query: Some(SchemaGenerator::subschema_for::<Q>),
        takes: Takes::Nothing,
        gives: Gives::Json(SchemaGenerator::subschema_for::<R>),
        limit: 0,
        serve: Serve::Call(Arc::new(move |asked| bytes_of(&f(asked, asked.query()?)?))),
    }
}

/// Makes a route that changes something.
pub fn act<B, R>(
    method: Method,
    path: &'static str,
    name: &'static str,
    about: &'static str,
    f: impl Fn(&Asked, B) -> Result<R, Problem> + Send + Sync + 'static,
) -> Route
where
    B: DeserializeOwned + JsonSchema,
    R: Serialize + JsonSchema,
{
    Route {
        method,
        path,
        name,
        about,
        kind: Kind::Writes,
        tag: Tag::None,
        of_files: false,
        conditional: false,
        query: None,
        takes: Takes::Json(SchemaGenerator::subschema_for::<B>),
        gives: Gives::Json(SchemaGenerator::subschema_for::<R>),
        limit: BODY,
        serve: Serve::Call(Arc::new(move |asked| {
            let Nothing {} = asked.query()?;
            bytes_of(&f(asked, asked.json()?)?)
        })),
    }
}

/// Makes a `POST` route that changes something.
pub fn post<B, R>(
    path: &'static str,
    name: &'static str,
    about: &'static str,
    f: impl Fn(&Asked, B) -> Result<R, Problem> + Send + Sync + 'static,
) -> Route
where
    B: DeserializeOwned + JsonSchema,
    R: Serialize + JsonSchema,
{
    act(Method::POST, path, name, about, f)
}

/// Makes a `POST` route that takes raw bytes of a media type, at most 16 MiB.
pub fn send<R: Serialize + JsonSchema>(
    path: &'static str,
    name: &'static str,
    about: &'static str,
    (kind, what): (&'static str, &'static str),
    f: impl Fn(&Asked) -> Result<R, Problem> + Send + Sync + 'static,
) -> Route {
    let mut route = post(path, name, about, |_, _: Nothing| -> Result<R, Problem> { Err(Problem::stopped()) });
    (route.takes, route.limit) = (Takes::Bytes(kind, what), LARGE_BODY);
    route.serve = Serve::Call(Arc::new(move |asked| {
        let Nothing {} = asked.query()?;
        bytes_of(&f(asked)?)
    }));
    route
}

/// Makes a route with its own handler, served in the event loop.
pub fn raw(
    method: Method,
    path: &'static str,
    name: &'static str,
    about: &'static str,
    (takes, gives): (Takes, Gives),
    serve: fn() -> MethodRouter<Api>,
) -> Route {
    Route {
        method,
        path,
        name,
        about,
        kind: Kind::Reads,
        tag: Tag::None,
        of_files: false,
        conditional: false,
        query: None,
        takes,
        gives,
        limit: BODY,
        serve: Serve::Raw(serve),
    }
}

impl Route {
    /// Marks the route as a list: its ETag is the state of the audit.
    pub fn list(mut self) -> Route {
        self.tag = Tag::Audit;
        self
    }

    /// Marks the route as a single thing: its ETag is the digest of its content.
    pub fn item(mut self) -> Route {
        self.tag = Tag::Content;
        self
    }

    /// Marks the route as a list that shows visible files.
    pub fn of_files(mut self) -> Route {
        self.of_files = true;
        self.list()
    }

    /// Marks the route as an edit that needs `If-Match`.
    pub fn conditional(mut self) -> Route {
        self.conditional = true;
        self
    }

    pub fn kind(mut self, kind: Kind) -> Route {
        self.kind = kind;
        self
    }

    pub fn query<Q: JsonSchema>(mut self) -> Route {
        self.query = Some(SchemaGenerator::subschema_for::<Q>);
        self
    }

    /// Turns the route into a handler of the router.
    pub fn served(self) -> MethodRouter<Api> {
        if let Serve::Raw(serve) = &self.serve {
            return serve();
        }
        let filter = MethodFilter::try_from(self.method.clone()).unwrap_or(MethodFilter::TRACE);
        let route = Arc::new(self);
        on(
            filter,
            move |State(api): State<Api>,
                  Extension(asker): Extension<Asker>,
                  params: Result<RawPathParams, RawPathParamsRejection>,
                  request: Request| {
                let route = Arc::clone(&route);
                async move {
                    let answer = async {
                        let params = params.map_err(|e| crate::raw::no_text(&e.body_text()))?;
                        answer(&route, api, asker, &params, request).await
                    };
                    answer.await.unwrap_or_else(Problem::into_response)
                }
            },
        )
    }
}

async fn answer(
    route: &Route,
    api: Api,
    asker: Asker,
    params: &RawPathParams,
    request: Request,
) -> Result<Response, Problem> {
    let Serve::Call(call) = &route.serve else { return Err(Problem::stopped()) };
    let call = Arc::clone(call);
    let path = params.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let (parts, body) = request.into_parts();
    let body = match &route.takes {
        Takes::Nothing => Bytes::new(),
        Takes::Json(_) => {
            let body = read(&parts.headers, body, route.limit).await?;
            if !body.is_empty() && !is_json(&parts.headers) {
                return Err(Problem::of(Wrong::MediaType, "the body is JSON, and does not say so"));
            }
            body
        }
        Takes::Bytes(..) => read(&parts.headers, body, route.limit).await?,
    };
    let (kind, tag, of_files) = (route.kind, route.tag, route.of_files);
    let headers = parts.headers;
    let asked = Asked {
        engine: asker.engine.clone(),
        asker,
        api: api.clone(),
        body,
        path,
        uri: parts.uri,
        rests_on: tag::rests_on(&headers),
    };
    let done = api.0.gates.run(kind, move || -> Result<(Option<Vec<u8>>, Option<String>), Problem> {
        match tag {
            Tag::None => Ok((Some(call(&asked)?), None)),
            Tag::Content => {
                let body = call(&asked)?;
                let tag = tag::of_content(&body);
                Ok(((!tag::is_known(&headers, &tag)).then_some(body), Some(tag)))
            }
            Tag::Audit => {
                if of_files {
                    // Recent hand edits of visible files are read first, so that they are in the audit and in the tag.
                    let _ = asked.engine.look()?;
                }
                // The tag is read before the list: a write in between is in the list, and the older tag only makes the
                // client ask again.
                let tag = tag::of_audit(asked.engine.newest_change()?);
                let body = if tag::is_known(&headers, &tag) { None } else { Some(call(&asked)?) };
                Ok((body, Some(tag)))
            }
        }
    });
    let (body, tag) = done.await??;
    let mut response = match body {
        Some(body) => {
            let mut response = Response::new(Body::from(body));
            let json = match &route.gives {
                Gives::Json(_) => "application/json",
                Gives::Other(kind, _) => kind,
            };
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(json));
            response
        }
        None => StatusCode::NOT_MODIFIED.into_response(),
    };
    if let Some(tag) = tag.and_then(|tag| HeaderValue::from_str(&tag).ok()) {
        response.headers_mut().insert(ETAG, tag);
    }
    Ok(response)
}

/// Reads the body of a request, at most `limit` bytes. A larger body is refused unread if its `Content-Length` says so.
pub async fn read(headers: &HeaderMap, body: Body, limit: usize) -> Result<Bytes, Problem> {
    let too_large = || Problem::of(Wrong::TooLarge, format!("the body may be {} KiB", limit >> 10));
    let says = headers.get(CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<u64>().ok());
    if says.is_some_and(|n| n > limit as u64) {
        return Err(too_large());
    }
    // The parts go into one piece of memory as they come: a large body is there once, not twice.
    let mut whole = Vec::with_capacity(says.map_or(0, |n| usize::try_from(n).unwrap_or(0).min(limit)));
    let mut body = body;
    while let Some(part) = body.frame().await {
        let broke_off = |_| Problem::of(Wrong::Malformed, "the body broke off").next("send the whole request again");
        let Ok(part) = part.map_err(broke_off)?.into_data() else { continue };
        if whole.len() + part.len() > limit {
            return Err(too_large());
        }
        whole.extend_from_slice(&part);
    }
    Ok(whole.into())
}

pub fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

/// Method, path and name of a route, for the contract test.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Described {
    pub method: String,
    pub path: &'static str,
    pub name: &'static str,
}

/// Returns method, path and name of every route.
pub fn described() -> Vec<Described> {
    let of = |route: Route| Described { method: route.method.to_string(), path: route.path, name: route.name };
    crate::routes::all().into_iter().map(of).collect()
}
