//! The maze map: the route report with its action tree.
//!
//! Shape and key names are the seed's (002); keys beyond it are optional. Reading is lenient: an agent writes these
//! files too.

mod report;
mod vocab;

pub use report::{ActionTree, Bug, Coverage, FireRate, Node, OperationsCount, PageInfo, RouteReport, ScriptCoverage};
pub(crate) use vocab::open_enum;
pub use vocab::{ActionResult, BugKind, NodeState, NodeType, RouteStatus, Severity};
