"""Models of the engine's documents, for the API's description.

The engine writes these documents and the API forwards its bytes, so these models are never on the
hot path. OpenAPI gets its schemas from them, and the tests validate real documents against them.
Column tables are objects with lists of equal length. There is one file for each document; the
documents of endpoints can be imported from here.
"""

from cubeyard.plans.documents.bill import Bom
from cubeyard.plans.documents.scene import Cables, Scene
from cubeyard.plans.documents.sheets import DeviceTrace, RackSheet
from cubeyard.plans.documents.summary import Counts, Summary
from cubeyard.plans.documents.work_order import DiffCounts, WorkOrder

__all__ = ["Bom", "Cables", "Counts", "DeviceTrace", "DiffCounts", "RackSheet", "Scene", "Summary", "WorkOrder"]
