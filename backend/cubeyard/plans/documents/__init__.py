"""The shapes of the engine's documents, as the API promises them.

The engine writes these documents itself and the API passes its bytes on, so nothing here is on the
hot path: the models give OpenAPI its schemas, and the tests hold real documents against them.
Column tables are objects of equally long lists. One file for each document; the documents that
endpoints name are importable from here.
"""

from cubeyard.plans.documents.bill import Bom
from cubeyard.plans.documents.scene import Cables, Scene
from cubeyard.plans.documents.sheets import DeviceTrace, RackSheet
from cubeyard.plans.documents.summary import Counts, Summary
from cubeyard.plans.documents.work_order import DiffCounts, WorkOrder

__all__ = ["Bom", "Cables", "Counts", "DeviceTrace", "DiffCounts", "RackSheet", "Scene", "Summary", "WorkOrder"]
