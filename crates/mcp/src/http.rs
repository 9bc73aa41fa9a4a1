//! The tools over streamable HTTP: each request is answered by itself, and no session is kept. The caller has already
//! decided who may ask, and for which agent.

use std::sync::Arc;

use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use crate::memory::Memory;
use crate::server::Server;

/// The service that answers requests of the protocol.
pub type Asked = StreamableHttpService<Server, NeverSessionManager>;

/// Returns the service for a memory. `hosts` and `origins` are the exact values that are accepted; the SDK checks
/// neither if its lists are empty.
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
