//! The payloads of hooks: the first byte chooses program and event, the rest is the payload, and what is given back.
#![no_main]

use heirloom_harness::ALL;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((which, payload)) = data.split_first() else { return };
    let hooks: Vec<_> = ALL.iter().flat_map(|h| h.hooks().iter().map(move |hook| (*h, hook))).collect();
    let (harness, hook) = hooks[usize::from(*which) % hooks.len()];
    let decoded = harness.decode_hook(hook.event, payload);
    assert_eq!(decoded, harness.decode_hook(hook.event, payload));
    let block = String::from_utf8_lossy(payload);
    let reply = harness.hook_reply(hook.event, &block);
    assert!(hook.gives || reply.is_none(), "{} gives nothing", hook.event);
    // Every reply but one is JSON; what Claude Code's summariser reads is text.
    if let Some(reply) = reply.filter(|_| (harness.spec().name, hook.event) != ("claude-code", "PreCompact")) {
        serde_json::from_slice::<serde_json::Value>(&reply).expect("a reply is JSON");
    }
});
