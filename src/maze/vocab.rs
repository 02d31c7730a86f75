//! The report's vocabulary: open enumerations, so that a word of another writer is kept and written back.

macro_rules! open_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal $(| $alias:literal)*),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name {
            $($(#[$vdoc])* $variant,)+
            /// A word of another writer: kept as it is.
            Other(String),
        }

        impl $name {
            /// Every word that we write.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// The word in the file.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $word,)+
                    Self::Other(word) => word,
                }
            }
        }

        impl From<&str> for $name {
            fn from(word: &str) -> Self {
                match word {
                    $($word $(| $alias)* => Self::$variant,)+
                    other => Self::Other(other.to_owned()),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let word = <std::borrow::Cow<'de, str> as serde::Deserialize<'de>>::deserialize(deserializer)?;
                Ok(Self::from(word.as_ref()))
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                // Open: known words are examples, another writer's word is valid too.
                schemars::json_schema!({ "type": "string", "examples": Self::WORDS })
            }
        }
    };
}
pub(crate) use open_enum;

open_enum! {
    /// What kind of control a node is.
    NodeType {
        /// A button.
        Button = "button",
        /// A link.
        Link = "link",
        /// A tab.
        Tab = "tab",
        /// Opens a dropdown.
        DropdownTrigger = "dropdown_trigger",
        /// An item of an opened dropdown.
        DropdownItem = "dropdown_item",
        /// Opens a submenu.
        SubmenuTrigger = "submenu_trigger",
        /// An item of a menu.
        MenuItem = "menu_item",
        /// A switch, checkbox or radio button.
        Toggle = "toggle",
        /// Narrows what a list shows.
        Filter = "filter",
        /// A field that takes text or a choice.
        Input = "input",
        /// One step of a wizard.
        WizardStep = "wizard_step",
        /// A row or card that can be clicked.
        Row = "row",
        /// Anything else.
        Unclassified = "other",
    }
}

open_enum! {
    /// Whether the control could be used.
    NodeState {
        /// It could.
        Enabled = "enabled",
        /// It was disabled.
        Disabled = "disabled",
    }
}

open_enum! {
    /// What came of acting on a node.
    ActionResult {
        /// A dialog opened.
        DialogOpened = "dialog_opened",
        /// A question to confirm opened; it was cancelled.
        ConfirmationDialog = "confirmation_dialog",
        /// A dropdown or menu opened.
        DropdownOpened = "dropdown_opened",
        /// A submenu opened.
        SubmenuOpened = "submenu_opened",
        /// A wizard opened.
        WizardOpened = "wizard_opened",
        /// Another page was shown.
        PageNavigated = "page_navigated",
        /// A toast appeared.
        ToastNotification = "toast_notification",
        /// Nothing could be seen to happen.
        NoResponse = "no_response",
        /// An error came of it.
        Error = "error",
        /// The control was disabled.
        NotClickable = "not_clickable" | "disabled",
        /// A new window or tab opened.
        NewWindow = "new_window",
        /// A download began.
        DownloadStarted = "download_started",
        /// A file chooser opened.
        FileChooser = "file_chooser",
        /// The content of the screen changed.
        ContentChanged = "content_changed",
        /// It would leave the application's origin.
        OutOfScope = "out_of_scope",
        /// Destructive, and not allowed.
        Refused = "refused",
        /// Not acted on; `skipped_reason` says why.
        Skipped = "skipped",
    }
}

open_enum! {
    /// The outcome of testing a route.
    RouteStatus {
        /// No bug.
        Pass = "pass",
        /// Bugs, but all tested.
        Partial = "partial",
        /// Could not be tested.
        Fail = "fail",
    }
}

open_enum! {
    /// How bad a bug is.
    Severity {
        /// The route cannot be used.
        Critical = "critical" | "Critical" | "CRITICAL" | "blocker" | "Blocker" | "BLOCKER" | "fatal",
        /// A function of the route is broken.
        Major = "major" | "Major" | "MAJOR" | "high" | "High" | "HIGH" | "serious",
        /// A blemish.
        Minor = "minor" | "Minor" | "MINOR" | "low" | "Low" | "LOW" | "trivial" | "cosmetic",
    }
}

impl Severity {
    /// Rank for sorting: the worst first.
    #[must_use]
    pub fn rank(&self) -> u8 {
        match self {
            Self::Critical => 0,
            Self::Major => 1,
            Self::Minor => 2,
            Self::Other(_) => 3,
        }
    }

    /// The letter in a bug id (`BUG-{slug}-{C|M|m}{n}`).
    #[must_use]
    pub fn letter(&self) -> char {
        match self {
            Self::Critical => 'C',
            Self::Major => 'M',
            Self::Minor | Self::Other(_) => 'm',
        }
    }
}

open_enum! {
    /// What kind of fault a bug is.
    BugKind {
        /// An uncaught exception or rejection.
        Exception = "exception",
        /// A document 404 or 5xx, or a same-site 5xx of a request.
        HttpError = "http_error",
        /// An error page, error toast or alert.
        ErrorMessage = "error_message",
        /// A page that stays blank.
        BlankPage = "blank_page",
        /// A table that never fills or a spinner that never ends.
        NeverLoads = "never_loads",
        /// An enabled control with no effect at all.
        DeadControl = "dead_control",
        /// A dialog that cannot be closed.
        FocusTrap = "focus_trap",
        /// A broken image of the own origin.
        BrokenImage = "broken_image",
        /// A script or style sheet of the own origin that did not load.
        BrokenResource = "broken_resource",
        /// A redirect to the login in mid-session.
        LoginRedirect = "login_redirect",
        /// The page crashed or hung.
        Crash = "crash",
        /// A control that a recording used is disabled.
        DisabledControl = "disabled_control",
        /// A text that a recording expects is not shown.
        MissingText = "missing_text",
    }
}
