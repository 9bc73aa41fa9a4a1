//! `heirloom bench`
use crate::context::Global;
use crate::error::Exit;
use heirloom_engine::error::Result;
/// Measure
#[derive(clap::Args, Debug)]
pub struct Args {}
pub fn run(_: &Global, _: Args) -> Result<Exit> {
    Ok(Exit::Ok)
}
