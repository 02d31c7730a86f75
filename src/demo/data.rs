//! The demo's data: small, fixed, the same at every start.

use serde::{Deserialize, Serialize};

/// A product of the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Product {
    pub(super) id: u32,
    pub(super) name: String,
    pub(super) price: u32,
    pub(super) stock: u32,
    pub(super) status: String,
}

const NAMES: [&str; 20] = [
    "Aurora Desk Lamp",
    "Birch Side Table",
    "Canvas Tote",
    "Dune Throw",
    "Ember Candle",
    "Fjord Carafe",
    "Grain Board",
    "Harbor Mug",
    "Inlet Vase",
    "Juniper Soap",
    "Kelp Planter",
    "Linen Runner",
    "Moss Cushion",
    "Nordic Stool",
    "Opal Glass Set",
    "Pine Coat Rack",
    "Quarry Bowl",
    "Reed Basket",
    "Slate Coaster",
    "Tide Wall Clock",
];

/// The products at the start.
pub(super) fn products() -> Vec<Product> {
    (1_u32..)
        .zip(NAMES)
        .map(|(id, name)| Product {
            id,
            name: name.to_owned(),
            price: 12 + id * 7 % 60,
            stock: id * 13 % 90,
            status: match id % 7 {
                0 => "Retired",
                3 => "Draft",
                _ => "Active",
            }
            .to_owned(),
        })
        .collect()
}

/// One order of the list.
pub(super) struct Order {
    pub(super) id: u32,
    pub(super) who: &'static str,
    pub(super) channel: &'static str,
    pub(super) total: u32,
    pub(super) status: &'static str,
}

/// The orders.
pub(super) const ORDERS: &[Order] = &[
    Order { id: 1001, who: "Nora Lindqvist", channel: "Web", total: 128, status: "Open" },
    Order { id: 1002, who: "Tomas Greer", channel: "Web", total: 54, status: "Shipped" },
    Order { id: 1003, who: "Ife Adeyemi", channel: "Store", total: 310, status: "Open" },
    Order { id: 1004, who: "Mina Kowalska", channel: "Web", total: 76, status: "Cancelled" },
    Order { id: 1005, who: "Jonas Berg", channel: "Phone", total: 92, status: "Shipped" },
    Order { id: 1006, who: "Lucía Ortega", channel: "Store", total: 45, status: "Open" },
];

/// Customers: name, address, plan.
pub(super) const CUSTOMERS: &[(&str, &str, &str)] = &[
    ("Nora Lindqvist", "nora@quayside.example", "Team"),
    ("Tomas Greer", "tomas@quayside.example", "Starter"),
    ("Ife Adeyemi", "ife@quayside.example", "Team"),
    ("Mina Kowalska", "mina@quayside.example", "Starter"),
    ("Jonas Berg", "jonas@quayside.example", "Team"),
];
