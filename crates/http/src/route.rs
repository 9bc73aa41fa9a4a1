//! What a route is: a method, a path, what it takes and answers, and what it does. Its description and its work are one
//! value, so that nothing can be served that the document does not have.

use std::sync::Arc;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Extension, Query, RawPathParams, Request, State};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, ETAG};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter, on};
use heirloom_engine::engine::Engine;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Api;
use crate::gate::Kind;
use crate::guard::Asker;
use crate::problem::{Problem, Wrong};
use crate::tag::{self, Tag};

/// The largest body of a request that is no hook's.
pub const BODY: usize = 1 << 20;
/// The largest payload of a hook, and the most lines that are appended at once.
pub const LARGE_BODY: usize = 16 << 20;

/// How the schema of something is made.
pub type Shape = fn(&mut SchemaGenerator) -> Schema;

/// What a route takes in its body.
pub enum Takes {
    Nothing,
    Json(Shape),
    /// Bytes of this type, with what they are.
    Bytes(&'static str, &'static str),
}

/// What a route answers.
pub enum Gives {
    Json(Shape),
    /// Text or bytes of this type, with what it is.
    Other(&'static str, &'static str),
}

/// Something that can be asked for.
pub struct Route {
    pub method: Method,
    pub path: &'static str,
    /// What programs call it.
    pub name: &'static str,
    /// One sentence.
    pub about: &'static str,
    pub kind: Kind,
    pub tag: Tag,
    /// The answer shows visible files, which a person may have edited a moment ago.
    pub of_files: bool,
    /// Edits say what they rest on (`If-Match`).
    pub conditional: bool,
    pub query: Option<Shape>,
    pub takes: Takes,
    pub gives: Gives,
    pub limit: usize,
    serve: Serve,
}

type Call = dyn Fn(&Asked) -> Result<Vec<u8>, Problem> + Send + Sync;

enum Serve {
    /// On a thread of its own, in its turn.
    Call(Arc<Call>),
    /// In the event loop.
    Raw(fn() -> MethodRouter<Api>),
}

/// A request on its way to the engine.
pub struct Asked {
    /// Acting for the agent that was asked for, in the caller's name.
    pub engine: Engine,
    pub asker: Asker,
    pub api: Api,
    pub body: Bytes,
    path: Vec<(String, String)>,
    uri: Uri,
    /// What an edit rests on.
    rests_on: Option<String>,
}

/// Takes nothing.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

impl Asked {
    /// A part of the path, by its name.
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
            _ => Problem::of(Wrong::Malformed, format!("the body is no JSON: {e}"), ""),
        })
    }

    /// Refuses an edit that does not rest on `current`, which is what its `GET` answers: 428 where it does not say what
    /// it rests on, 412 with what there is by now where that is something else.
    pub fn must_rest_on(&self, current: &impl Serialize) -> Result<(), Problem> {
        let body = bytes_of(current)?;
        let tag = tag::of_content(&body);
        match &self.rests_on {
            None => Err(Problem::of(
                Wrong::Unconditional,
                "an edit needs If-Match",
                "GET it, and send its ETag as If-Match with the edit",
            )),
            Some(list) if tag::is_in(list, &tag) => Ok(()),
            Some(_) => Err(Problem::changed(&tag, serde_json::from_slice(&body).unwrap_or_default())),
        }
    }
}

/// A report as it is sent.
fn bytes_of(report: &impl Serialize) -> Result<Vec<u8>, Problem> {
    serde_json::to_vec(report).map_err(|_| Problem::stopped())
}

/// A route that looks.
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

/// A route that does something.
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

/// An act, as `POST`.
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

/// An act that takes bytes of a type, at most 16 MiB.
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

/// A route of its own making, served in the event loop.
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
    /// A list: its tag is the state of the audit.
    pub fn list(mut self) -> Route {
        self.tag = Tag::Audit;
        self
    }

    /// One thing: its tag is its content.
    pub fn item(mut self) -> Route {
        self.tag = Tag::Content;
        self
    }

    /// A list that shows visible files.
    pub fn of_files(mut self) -> Route {
        self.of_files = true;
        self.list()
    }

    /// An edit: it must say what it rests on.
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

    /// The route as the router serves it.
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
                  params: RawPathParams,
                  request: Request| {
                let route = Arc::clone(&route);
                async move { answer(&route, api, asker, &params, request).await.unwrap_or_else(Problem::into_response) }
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
                let what = "the body is JSON: Content-Type: application/json";
                return Err(Problem::of(Wrong::MediaType, what, ""));
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
                    // What a person edited a moment ago is read first, and is in the audit then.
                    let _ = asked.engine.look()?;
                }
                // Read before the list: what is written in between is in the list, and its tag is older than it.
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

/// The body of a request, which may be `limit` bytes long. What is longer is refused before it is read, where it says how
/// long it is.
pub async fn read(headers: &HeaderMap, body: Body, limit: usize) -> Result<Bytes, Problem> {
    let too_large = || {
        let what = format!("the body may be {} KiB", limit >> 10);
        Problem::of(Wrong::TooLarge, what, "send less at once")
    };
    let says = headers.get(CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<u64>().ok());
    if says.is_some_and(|n| n > limit as u64) {
        return Err(too_large());
    }
    to_bytes(body, limit).await.map_err(|e| {
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&e);
        while let Some(e) = cause {
            if e.to_string().contains("length limit") {
                return too_large();
            }
            cause = e.source();
        }
        Problem::of(Wrong::Malformed, "the body broke off", "")
    })
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

/// A route as the guard of the contract reads it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Described {
    pub method: String,
    pub path: &'static str,
    pub name: &'static str,
}

/// All routes.
pub fn described() -> Vec<Described> {
    let of = |route: Route| Described { method: route.method.to_string(), path: route.path, name: route.name };
    crate::routes::all().into_iter().map(of).collect()
}
