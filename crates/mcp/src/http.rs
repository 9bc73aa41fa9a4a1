//! The same tools over streamable HTTP: each request is answered by itself, and no session is kept. Who may ask, and
//! whose memory it is, has been decided before.

use std::sync::Arc;

use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use crate::memory::Memory;
use crate::server::Server;

/// What answers requests of the protocol.
pub type Asked = StreamableHttpService<Server, NeverSessionManager>;

/// Answers requests with what this memory knows. `hosts`, `origins`: those that are ours, exactly; the SDK checks neither
/// by itself when it is given none.
pub fn answering(memory: Memory, hosts: &[String], origins: &[String]) -> Asked {
    let server = Server::new(memory);
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_allowed_hosts(hosts)
        .with_allowed_origins(origins)
        .enforce_origin_validation();
    StreamableHttpService::new(move || Ok(server.clone()), Arc::new(NeverSessionManager::default()), config)
}
