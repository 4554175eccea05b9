//! The names behind the indices: nodes, egress ports, traffic entries.
use thiserror::Error;

/// Names by index.
#[derive(Clone, Debug, Default)]
pub(crate) struct Labels(Vec<String>);

impl From<Vec<String>> for Labels {
    fn from(names: Vec<String>) -> Self {
        Self(names)
    }
}

impl Labels {
    pub(crate) const fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn text(&self, index: u32) -> &str {
        &self.0[index as usize]
    }
}

/// A record or a caller used an index that has no name.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum NameError {
    /// A node index beyond the network.
    #[error(
        "a record names node {node}, but only nodes 0..{known} have names; pass every node to Names::new"
    )]
    Node {
        /// The index in the record.
        node: u32,
        /// How many nodes have names.
        known: usize,
    },
    /// A port index beyond the node's ports.
    #[error(
        "a record names port {port} of node {node} ({name}), which has {known} ports; pass every port to Names::new"
    )]
    Port {
        /// The node.
        node: u32,
        /// Its name.
        name: String,
        /// The index in the record.
        port: u16,
        /// How many ports the node has.
        known: usize,
    },
    /// A traffic index beyond the scenario's entries.
    #[error(
        "a record names traffic entry {entry}, but the scenario has {known}; pass every entry to Names::new"
    )]
    Traffic {
        /// The index in the record.
        entry: u16,
        /// How many entries have names.
        known: usize,
    },
    /// A flow index beyond the run's flows.
    #[error("a record names flow {flow}, but only flows 0..{known} are known; pass every flow to Names::new")]
    Flow {
        /// The index in the record.
        flow: u32,
        /// How many flows are known.
        known: usize,
    },
    /// A rank index beyond the run's ranks.
    #[error(
        "a record names rank {rank}, but only ranks 0..{known} are known; pass the programs to Names::with_programs"
    )]
    Rank {
        /// The index in the record.
        rank: u32,
        /// How many ranks are known.
        known: usize,
    },
    /// The role of a rank, or a series that it measures, without a name.
    #[error(
        "a record names {what} {index} of rank programs, but only 0..{known} have names; pass the programs to \
         Names::with_programs"
    )]
    OfPrograms {
        /// `role` or `series`.
        what: &'static str,
        /// The index in the record.
        index: u16,
        /// How many have names.
        known: usize,
    },
    /// A code that has no word.
    #[error(
        "a record has {column} = {code}, but only 0..{known} have a meaning; the model sent a wrong code"
    )]
    Word {
        /// The code in the record.
        code: u8,
        /// The column.
        column: &'static str,
        /// How many codes there are.
        known: usize,
    },
}

/// Names of everything that records mention by index.
#[derive(Clone, Debug)]
pub struct Names {
    nodes: Labels,
    /// All port labels, node after node.
    ports: Labels,
    /// Where a node's labels begin; one more entry than nodes.
    first_port: Vec<usize>,
    traffic: Labels,
    flow_traffic: Vec<u16>,
    roles: Labels,
    series: Labels,
    /// Of each rank its traffic entry and its role.
    ranks: Vec<(u16, u16)>,
}

impl Names {
    /// `nodes`: node names by node index. `peers`: for each node, the node index at the far end of each of its
    /// ports, in port order (a port's label is then `"L0->T2"`, of parallel links `"L0->T2:0"`, `"L0->T2:1"`, …). `traffic`: names of the scenario's traffic
    /// entries. `flow_traffic`: the traffic entry of each flow, by flow index.
    ///
    /// # Errors
    /// If a peer, or the traffic entry of a flow, has no name, or `peers` lists other nodes than `nodes`.
    pub fn new(
        nodes: Vec<String>,
        peers: &[Vec<u32>],
        traffic: Vec<String>,
        flow_traffic: Vec<u16>,
    ) -> Result<Self, NameError> {
        let known = nodes.len();
        if peers.len() != known {
            return Err(NameError::Node { node: peers.len().saturating_sub(1) as u32, known });
        }
        let mut labels = Vec::new();
        let mut first_port = Vec::with_capacity(known + 1);
        for (name, peers) in nodes.iter().zip(peers) {
            first_port.push(labels.len());
            for (port, &peer) in peers.iter().enumerate() {
                let to = nodes.get(peer as usize).ok_or(NameError::Node { node: peer, known })?;
                let same = |ports: &[u32]| ports.iter().filter(|&&other| other == peer).count();
                labels.push(match same(peers) {
                    1 => format!("{name}->{to}"),
                    _ => format!("{name}->{to}:{}", same(&peers[..port])),
                });
            }
        }
        first_port.push(labels.len());
        if let Some(&entry) = flow_traffic.iter().find(|&&t| usize::from(t) >= traffic.len()) {
            return Err(NameError::Traffic { entry, known: traffic.len() });
        }
        Ok(Self {
            nodes: nodes.into(),
            ports: labels.into(),
            first_port,
            traffic: traffic.into(),
            flow_traffic,
            roles: Labels::default(),
            series: Labels::default(),
            ranks: Vec::new(),
        })
    }

    /// The same names, with those of rank programs: `roles` by role index, `series` (what ranks measure) by series index,
    /// and of each rank its traffic entry and its role, by rank index.
    ///
    /// # Errors
    /// If a rank is of a traffic entry or in a role that has no name.
    pub fn with_programs(
        mut self,
        roles: Vec<String>,
        series: Vec<String>,
        ranks: Vec<(u16, u16)>,
    ) -> Result<Self, NameError> {
        self.roles = roles.into();
        self.series = series.into();
        for &(entry, role) in &ranks {
            self.traffic_key(entry)?;
            self.role_key(role)?;
        }
        self.ranks = ranks;
        Ok(self)
    }

    /// The same names, with one more label for each of `hosts` after those of its ports: its drain, `"h0 drain"`. In records of
    /// the ground truth the drain of a slow host is one more egress port of it.
    ///
    /// # Errors
    /// If a host has no name.
    pub fn with_drains(mut self, hosts: &[u32]) -> Result<Self, NameError> {
        let mut labels = Vec::with_capacity(self.ports.len() + hosts.len());
        let mut first_port = Vec::with_capacity(self.first_port.len());
        for (node, ends) in (0..).zip(self.first_port.windows(2)) {
            first_port.push(labels.len());
            labels.extend((ends[0]..ends[1]).map(|label| self.ports.text(label as u32).to_owned()));
            if hosts.contains(&node) {
                labels.push(format!("{} drain", self.node(node)?));
            }
        }
        first_port.push(labels.len());
        for &host in hosts {
            self.node_key(host)?;
        }
        self.first_port = first_port;
        self.ports = labels.into();
        Ok(self)
    }

    /// One more flow, of this traffic entry, after all others.
    ///
    /// # Errors
    /// If the entry has no name.
    pub fn add_flow(&mut self, entry: u16) -> Result<(), NameError> {
        self.traffic_key(entry)?;
        self.flow_traffic.push(entry);
        Ok(())
    }

    /// Name of a node.
    pub fn node(&self, node: u32) -> Result<&str, NameError> {
        Ok(self.nodes.text(self.node_key(node)?))
    }

    /// Label of an egress port, such as `"L0->T2"`.
    pub fn port(&self, node: u32, port: u16) -> Result<&str, NameError> {
        Ok(self.ports.text(self.port_key(node, port)?))
    }

    /// Name of a traffic entry.
    pub fn traffic(&self, entry: u16) -> Result<&str, NameError> {
        Ok(self.traffic.text(self.traffic_key(entry)?))
    }

    /// Name of a role of rank programs.
    pub fn role(&self, role: u16) -> Result<&str, NameError> {
        Ok(self.roles.text(self.role_key(role)?))
    }

    /// How many traffic entries there are.
    pub fn traffic_entries(&self) -> usize {
        self.traffic_names().len()
    }

    pub(crate) fn node_key(&self, node: u32) -> Result<u32, NameError> {
        let known = self.first_port.len() - 1;
        if (node as usize) < known { Ok(node) } else { Err(NameError::Node { node, known }) }
    }

    pub(crate) fn port_key(&self, node: u32, port: u16) -> Result<u32, NameError> {
        let name = self.node(node)?;
        let first = self.first_port[node as usize];
        let known = self.first_port[node as usize + 1] - first;
        if usize::from(port) < known {
            Ok((first + usize::from(port)) as u32)
        } else {
            Err(NameError::Port { node, name: name.to_owned(), port, known })
        }
    }

    pub(crate) fn traffic_key(&self, entry: u16) -> Result<u32, NameError> {
        let known = self.traffic_entries();
        if usize::from(entry) < known {
            Ok(u32::from(entry))
        } else {
            Err(NameError::Traffic { entry, known })
        }
    }

    pub(crate) fn flow_traffic_key(&self, flow: u32) -> Result<u32, NameError> {
        let known = self.flow_traffic.len();
        let entry = self.flow_traffic.get(flow as usize).ok_or(NameError::Flow { flow, known })?;
        Ok(u32::from(*entry))
    }

    pub(crate) fn role_key(&self, role: u16) -> Result<u32, NameError> {
        of_programs("role", role, self.roles.len())
    }

    pub(crate) fn series_key(&self, series: u16) -> Result<u32, NameError> {
        of_programs("series", series, self.series.len())
    }

    pub(crate) fn rank_traffic_key(&self, rank: u32) -> Result<u32, NameError> {
        Ok(u32::from(self.rank(rank)?.0))
    }

    pub(crate) fn rank_role_key(&self, rank: u32) -> Result<u32, NameError> {
        Ok(u32::from(self.rank(rank)?.1))
    }

    fn rank(&self, rank: u32) -> Result<(u16, u16), NameError> {
        let known = self.ranks.len();
        self.ranks.get(rank as usize).copied().ok_or(NameError::Rank { rank, known })
    }

    pub(crate) fn role_names(&self) -> &Labels {
        &self.roles
    }

    pub(crate) fn series_names(&self) -> &Labels {
        &self.series
    }

    pub(crate) fn node_names(&self) -> &Labels {
        &self.nodes
    }

    pub(crate) fn port_labels(&self) -> &Labels {
        &self.ports
    }

    pub(crate) fn traffic_names(&self) -> &Labels {
        &self.traffic
    }
}

fn of_programs(what: &'static str, index: u16, known: usize) -> Result<u32, NameError> {
    if usize::from(index) < known {
        Ok(u32::from(index))
    } else {
        Err(NameError::OfPrograms { what, index, known })
    }
}
