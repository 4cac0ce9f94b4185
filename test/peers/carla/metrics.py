"""Parses the text of a CARLA log with scenario_runner's metrics parser: metrics.py CHECKOUT < TEXT > JSON.

The parser makes objects of the Python client "carla", which is not needed: stand-ins keep what they are made of.
"""
import importlib.util
import json
import os
import sys
import types


class Value:
    fields = ()

    def __init__(self, *args, **named):
        self.__dict__.update(zip(self.fields, args))
        self.__dict__.update(named)


class Vector3D(Value):
    fields = ("x", "y", "z")

    def __init__(self, *args, **named):
        self.x = self.y = self.z = 0.0
        super().__init__(*args, **named)

    def __sub__(self, other):
        return Vector3D(self.x - other.x, self.y - other.y, self.z - other.z)

    def __truediv__(self, by):
        return Vector3D(self.x / by, self.y / by, self.z / by)


class Names:
    """Stand-in for an enumeration: the value of each member is the member's name."""

    def __getattr__(self, name):
        return name


def stand_in(name, *fields):
    return type(name, (Value,), {"fields": fields})


carla = types.ModuleType("carla")
carla.Vector3D = Vector3D
carla.Location = type("Location", (Vector3D,), {})
carla.Vector2D = stand_in("Vector2D", "x", "y")
carla.Rotation = stand_in("Rotation", "pitch", "yaw", "roll")
carla.Transform = stand_in("Transform", "location", "rotation")
carla.BoundingBox = stand_in("BoundingBox", "location", "extent")
carla.Color = stand_in("Color", "r", "g", "b", "a")
for kind in ("VehicleControl", "LightState", "GearPhysicsControl", "WheelPhysicsControl", "VehiclePhysicsControl"):
    setattr(carla, kind, stand_in(kind))
for names in ("VehicleLightState", "TrafficLightState", "LightGroup"):
    setattr(carla, names, Names())
sys.modules["carla"] = carla

path = os.path.join(sys.argv[1], "srunner/metrics/tools/metrics_parser.py")
spec = importlib.util.spec_from_file_location("metrics_parser", path)
metrics_parser = importlib.util.module_from_spec(spec)
spec.loader.exec_module(metrics_parser)
simulation, actors, frames = metrics_parser.MetricsParser(sys.stdin.read()).parse_recorder_info()
json.dump({"simulation": simulation, "actors": actors, "frames": frames}, sys.stdout, default=vars)
