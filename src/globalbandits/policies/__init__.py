"""Policies by room, and the learner that puts one of them to work."""

from globalbandits.policies.base import *
from globalbandits.policies.independent import *
from globalbandits.policies.learner import *
from globalbandits.policies.linear import *
from globalbandits.policies.paper import *
from globalbandits.policies.robust import *
from globalbandits.policies.structured import *
from globalbandits.policies.windows import *
