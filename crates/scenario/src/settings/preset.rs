//! Devices whose published values a scenario may take: `switch.preset`, `host.nic.preset`. The values stand in `presets/`.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Makes the enum of a kind of device, with the text of each.
macro_rules! presets {
    ($(#[$doc:meta])* $family:ident in $folder:literal { $($(#[$about:meta])* $name:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        pub enum $family {
            $($(#[$about])* #[serde(rename = $word)] $name,)*
        }

        impl $family {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The name in scenario files.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $word,)* }
            }

            /// What is published of it, as TOML.
            pub(crate) const fn text(self) -> &'static str {
                match self { $(Self::$name => include_str!(concat!("../presets/", $folder, "/", $word, ".toml")),)* }
            }
        }
    };
}

presets! {
/// A switch whose published values stand where the file has none.
SwitchPreset in "switch" {
    /// Broadcom Tomahawk 3: 12.8 Tbps, ports of 400 Gbps.
    Tomahawk3 = "tomahawk3",
    /// Broadcom Tomahawk 4: 25.6 Tbps, ports of 400 Gbps.
    Tomahawk4 = "tomahawk4",
    /// Broadcom Tomahawk 5: 51.2 Tbps, ports of 800 Gbps.
    Tomahawk5 = "tomahawk5",
    /// NVIDIA Spectrum-2: 6.4 Tbps, ports of 200 Gbps.
    Spectrum2 = "spectrum2",
    /// NVIDIA Spectrum-3: 12.8 Tbps, ports of 400 Gbps.
    Spectrum3 = "spectrum3",
    /// NVIDIA Spectrum-4: 51.2 Tbps, ports of 800 Gbps.
    Spectrum4 = "spectrum4",
    /// Marvell Teralynx 7: 12.8 Tbps, ports of 400 Gbps.
    Teralynx7 = "teralynx7",
    /// Marvell Teralynx 10: 51.2 Tbps, ports of 800 Gbps.
    Teralynx10 = "teralynx10",
}}

presets! {
/// A NIC whose measured behaviour stands where the file has none.
NicProfile in "nic-profile" {
    /// NVIDIA ConnectX-5: 100 Gbps.
    ConnectX5 = "connectx-5",
}}

presets! {
/// A NIC whose published values stand where the file has none.
NicPreset in "nic" {
    /// NVIDIA ConnectX-5: 100 Gbps.
    ConnectX5 = "connectx5",
    /// NVIDIA ConnectX-6: 200 Gbps.
    ConnectX6 = "connectx6",
    /// NVIDIA ConnectX-7: 400 Gbps.
    ConnectX7 = "connectx7",
    /// Broadcom Thor 2: 400 Gbps. Its congestion control is not published.
    Thor2 = "thor2",
    /// Intel E810: 100 Gbps.
    E810 = "e810",
}}
