//! What is wrong with a route, a route map or a selection.

use crate::exit::{Exit, Explain};

/// What is wrong with a route, a route map or a selection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// Not a route.
    #[error("`{text}` is not a route: {reason}")]
    NotARoute {
        /// What was written.
        text: String,
        /// Why.
        reason: &'static str,
    },
    /// The base URL cannot carry routes.
    #[error("`{url}` cannot be a base URL: {reason}")]
    BadBase {
        /// The URL (without its credentials).
        url: String,
        /// Why.
        reason: &'static str,
    },
    /// The route map names no route.
    #[error("the route map names no route")]
    EmptyMap,
    /// A selection that does not fit the map.
    #[error("cannot select `{spec}`: {reason}")]
    BadSelection {
        /// What was asked for.
        spec: String,
        /// Why.
        reason: String,
    },
}

impl Explain for RouteError {
    fn exit(&self) -> Exit {
        Exit::Usage
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotARoute { .. } => {
                "write a route as a path that begins with `/`, for example `/settings/general`".into()
            }
            Self::BadBase { .. } => "write the base URL as `http://host:port` or `https://host/path`".into(),
            Self::EmptyMap => {
                "write one route per line, as a bullet or in a table with a Route column; see ROUTE_MAP.example.md"
                    .into()
            }
            Self::BadSelection { .. } => {
                "name categories or routes of ROUTE_MAP.md, or numbers and ranges such as \"1-5,9\"".into()
            }
        })
    }

    fn code(&self) -> &'static str {
        match self {
            Self::NotARoute { .. } => "not_a_route",
            Self::BadBase { .. } => "bad_base_url",
            Self::EmptyMap => "empty_route_map",
            Self::BadSelection { .. } => "bad_selection",
        }
    }
}
