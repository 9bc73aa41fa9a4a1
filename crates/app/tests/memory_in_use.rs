//! Memory use of the long-running processes: the service, and the MCP server of a program.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::json;

use crate::service::Served;
use crate::world::HEIRLOOM;

/// However many search at once, one index of the service is mapped: each mapping counts as memory of the process.
#[test]
fn a_service_maps_one_index() {
    let served = Served::begin();
    let lines: String = (0..40)
        .map(|n| {
            format!("{}\n", json!({ "session": "s", "id": n.to_string(), "text": format!("The oven {n} is warm.") }))
        })
        .collect();
    assert_eq!(served.world.feed(&["append"], lines.as_bytes()).status, Some(0));
    let port = served.said()["port"].as_u64().unwrap();
    let token = served.world.json(&["token", "new", "t"])["token"].as_str().unwrap().to_owned();
    for _ in 0..5 {
        std::thread::scope(|scope| {
            for n in 0..8 {
                let head = format!(
                    "GET /v1/search?q=oven+{n} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\r\n"
                );
                scope.spawn(move || {
                    let mut stream = std::net::TcpStream::connect(("127.0.0.1", port as u16)).unwrap();
                    stream.write_all(head.as_bytes()).unwrap();
                    let mut answer = String::new();
                    std::io::Read::read_to_string(&mut stream, &mut answer).unwrap();
                    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
                });
            }
        });
    }
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", served.said()["pid"])).unwrap();
    let mapped = maps.lines().filter(|line| line.ends_with("/state/index.db")).count();
    assert_eq!(mapped, 1, "{maps}");
}

/// One arena for all threads, and free memory goes back to the system: with the usual heap, a server that rests keeps
/// what its calls have used.
#[cfg(target_env = "gnu")]
#[test]
fn a_server_of_a_program_has_the_heap_of_one_that_stays() {
    let served = Served::world();
    let mut command = served.world.test.command(HEIRLOOM);
    let mut server = command.arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut to = server.stdin.take().unwrap();
    writeln!(to, "{}", json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" })).unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let environment = std::fs::read(format!("/proc/{}/environ", server.id())).unwrap();
    assert!(environment.split(|byte| *byte == 0).any(|variable| variable == b"MALLOC_ARENA_MAX=1"), "{line}");
    drop(to);
    assert!(server.wait().unwrap().success());
}
