//! The state of a run that stands, as bytes.
use std::io::{Error, ErrorKind, Result};

use backwater_traffic::Flow;
use borsh::{BorshDeserialize, BorshSerialize};

use crate::app::jobs::JobsHere;
use crate::app::ranks::Ranks;
use crate::app::steps::Steps;
use crate::check::books;
use crate::link::credits::Credits;
use crate::link::egress::Egress;
use crate::link::failures::FaultState;
use crate::link::ingress::Memory;
use crate::link::ports::Ports;
use crate::log::Records;
use crate::nic::host::Host;
use crate::nic::nics::{OnePort, SeveralPorts};
use crate::nic::pft::Throttle;
use crate::nic::receive_queue::Endpoint;
use crate::nic::reliable::Responders;
use crate::nic::reorder::Reorder;
use crate::nic::requests::Requests;
use crate::node::FabricNode;
use crate::observe::roots::Roots;
use crate::packet::Packet;
use crate::simulation::{Completions, Course, Simulation};
use crate::switch::Switch;
use crate::switch::cioq::Cioq;
use crate::switch::cioq::isolation::CongestedFlows;
use crate::switch::two_pools::Pooled;
use crate::switch::voq::Voq;
use crate::switch::voq::order::{InTurn, InputFifos, Oldest};
use crate::transport::put::Puts;
use crate::transport::roce::extras::Extras;
use crate::transport::roce::pacer::Pacer;
use crate::transport::roce::queue_pair::{Receiver, Sender};

impl Simulation {
    /// Writes the state of a run that stands between two steps: what does not follow from its [`crate::Spec`]. The number of threads and
    /// processes is no part of it; of several processes the first one gets the state of all.
    ///
    /// # Errors
    /// If state has no form; the reference engine has none.
    pub fn save(&mut self, course: &Course, completions: &Completions, out: &mut Vec<u8>) -> Result<()> {
        let world = &self.world;
        self.injected().serialize(out)?;
        world.repeated.all().serialize(out)?;
        (course, completions).serialize(out)?;
        self.engine.save(out)
    }

    /// Goes on from what [`Self::save`] has written of a simulation of the same [`crate::Spec`], on any number of threads and processes,
    /// which are all given the same. This one is as it was built.
    ///
    /// # Errors
    /// If it was another one; then this one is of no use any more.
    pub fn load(&mut self, from: &mut &[u8]) -> Result<(Course, Completions)> {
        let injected = Vec::<Flow>::deserialize(from)?;
        let hosts = self.network.hosts().len() as u32;
        if injected.iter().any(|flow| flow.src >= hosts || flow.dst >= hosts) {
            return Err(unlike("it has more hosts"));
        }
        let mut anew = self.course(None);
        self.inject(&mut anew, &injected);
        if !self.world.repeated.set(&Vec::deserialize(from)?) {
            return Err(unlike("it has other flows"));
        }
        if self.processes().count() > 1 {
            self.world.repeated.unknown();
        }
        let (mut course, completions) = <(Course, Completions)>::deserialize(from)?;
        if self.processes().rank() > 0 {
            // The first one hands over what has gathered.
            course.batch.clear();
        }
        self.engine.load(from)?;
        let world = &self.world;
        self.engine.each_node(|_, node| {
            if let FabricNode::Switch(switch) = node {
                switch.judge_by_rates(world);
            }
        });
        Ok((course, completions))
    }
}

impl Simulation {
    /// Of the faults of its [`crate::Spec`] those from this number on were none of what was [loaded](Self::load). They begin now or later: the
    /// outcome is that of a run that had them from the beginning.
    pub fn learn_faults(&mut self, first: u16) {
        let Self { engine, world, network, .. } = self;
        let Some(faults) = &world.faults else { return };
        for node in faults.changed_from(first) {
            if let Some(of_node) = engine.node_mut(node) {
                of_node.ports_mut().rearm_fault(world);
            }
            engine.changed(node);
        }
        // At nodes where packets may be lost each is counted.
        let arrived = books::arrived(engine, network);
        for node in (0..network.nodes().len() as u32).filter(|node| world.loses_before(*node)) {
            let count = network.ports(node).len();
            if let (Some(of_node), true) = (engine.node_mut(node), count > 0) {
                let from = network.port_id(node, 0) as usize;
                of_node.ports_mut().begin_spared(&arrived[from..from + count]);
            }
        }
    }
}

/// The sizes of what state is made of. Builds in which they differ do not understand each other's bytes.
pub fn form() -> Vec<u32> {
    macro_rules! sizes {
        ($($state:ty),* $(,)?) => { vec![$(size_of::<$state>() as u32),*] };
    }
    sizes![
        Course,
        Records,
        Flow,
        Packet,
        Ports,
        Egress,
        Memory,
        Credits,
        FaultState,
        Host<OnePort>,
        SeveralPorts,
        Sender,
        Receiver,
        Pacer,
        Extras,
        Throttle,
        Endpoint,
        Requests,
        Reorder,
        Responders,
        Puts,
        Ranks,
        Steps,
        JobsHere,
        Switch,
        Cioq,
        CongestedFlows,
        Pooled,
        Voq<InTurn>,
        Voq<Oldest>,
        Voq<InputFifos>,
        Roots,
    ]
}

fn unlike(what: &str) -> Error {
    Error::new(ErrorKind::InvalidData, what)
}
