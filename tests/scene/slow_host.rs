//! Hosts slower than their links.
use backwater_control::flow_control::{Threshold, headroom};
use backwater_fabric::{DrainSpec, EndpointSpec, Spec};
use backwater_units::{Bytes, Rate, Span};

/// Gives a host (host index) a receive queue of `depth` bytes.
pub fn slow_host(spec: &mut Spec, host: u32, drain: DrainSpec, depth: u64) -> &mut EndpointSpec {
    let hosts = spec.network.hosts().len();
    spec.endpoints.resize(hosts, None);
    spec.endpoints[host as usize].insert(EndpointSpec {
        depth: Bytes::new(depth),
        drain,
        cached: None,
        pfc: None,
    })
}

/// The same in a fabric with PFC: Xoff leaves the headroom for `classes` priorities and the packet that crosses it, Xon lies two packets below.
///
/// # Panics
/// If the headroom takes all of the queue.
pub fn slow_under_pfc(spec: &mut Spec, host: u32, drain: DrainSpec, depth: u64, classes: u64) {
    let node = spec.network.hosts()[host as usize];
    let port = &spec.network.ports(node)[0];
    let mtu = spec.packet.payload + spec.packet.header;
    let frame = spec.switch.pfc.as_ref().expect("a fabric with PFC").frame;
    let need = headroom(port.rate, port.delay, mtu, frame, Span::ZERO).bytes.get();
    let xoff = (depth / classes).checked_sub(need + mtu.get()).expect("a queue beyond its headroom");
    let xon = xoff.saturating_sub(2 * mtu.get());
    slow_host(spec, host, drain, depth).pfc = Some(vec![fixed(xoff, xon, depth)]);
}

/// Thresholds of a priority alone.
pub fn fixed(xoff: u64, xon: u64, buffer: u64) -> Threshold {
    Threshold::Static { xoff, xon, port_xoff: u64::MAX, port_xon: u64::MAX, buffer }
}

/// A drain that never changes.
pub const fn mbps(mbps: u64) -> DrainSpec {
    DrainSpec::Constant(Rate::from_mbps(mbps))
}
