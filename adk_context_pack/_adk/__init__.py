"""The wall: everything that differs between ADK releases, or is private to ADK, is imported here and nowhere else.

The classes of ADK that most rooms use are imported here too, so that one place says where ADK keeps them.
"""

from google.adk.agents.base_agent import BaseAgent as BaseAgent
from google.adk.agents.callback_context import CallbackContext as CallbackContext
from google.adk.agents.invocation_context import InvocationContext as InvocationContext
from google.adk.agents.readonly_context import ReadonlyContext as ReadonlyContext
from google.adk.events import Event as Event
from google.adk.events import EventActions as EventActions
from google.adk.models.llm_request import LlmRequest as LlmRequest
from google.adk.models.llm_response import LlmResponse as LlmResponse
from google.adk.plugins.base_plugin import BasePlugin as BasePlugin
from google.adk.sessions.session import Session as Session
from google.adk.tools.base_tool import BaseTool as BaseTool
from google.adk.tools.base_toolset import BaseToolset as BaseToolset
from google.adk.tools.tool_context import ToolContext as ToolContext
from google.genai import types as types
