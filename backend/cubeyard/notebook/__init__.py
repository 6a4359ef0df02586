"""Cubeyard in notebooks and scripts: topologies, plans, predictions, simulations and sweeps,
without a server or a database.

Inside: `topology.py`, `networks.py` (files and graphs as topologies), `plans.py`; `answers.py` and
`sweeps.py`, experiments on them; `table.py` and `picture.py`, their display; `question.py`,
arguments as an experiment; `errors.py`, `progress.py`, `session.py`.

Not here: computations. All results come from the same engine and packages as those of the page and
the command line.

```python
from cubeyard.notebook import Topology, predict, sweep

network = Topology.bcube(n=8, k=3, servers=2048)
plan = network.plan()
plan.cables().to_pandas()
plan.export("xlsx")
predict(plan, failures={"switches": 0.1}).abt_gbps
sweep(network, failures={"switches": [0, 0.1, 0.2]}, seeds=5).chart()
```
"""

from cubeyard.notebook.answers import Prediction, Simulation, predict, simulate
from cubeyard.notebook.errors import CubeyardError, MissingPackageError, Mistake
from cubeyard.notebook.networks import read_network
from cubeyard.notebook.picture import Picture
from cubeyard.notebook.plans import Plan, formats, plan
from cubeyard.notebook.question import Asked, Failures, Seeds
from cubeyard.notebook.session import catalogs, families
from cubeyard.notebook.sweeps import Sweep, sweep
from cubeyard.notebook.table import Table
from cubeyard.notebook.topology import Topology

__all__ = [
    "Asked",
    "CubeyardError",
    "Failures",
    "MissingPackageError",
    "Mistake",
    "Picture",
    "Plan",
    "Prediction",
    "Seeds",
    "Simulation",
    "Sweep",
    "Table",
    "Topology",
    "catalogs",
    "families",
    "formats",
    "plan",
    "predict",
    "read_network",
    "simulate",
    "sweep",
]
