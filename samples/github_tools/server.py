"""An MCP server over stdio with tools such as GitHub's, over a repository that it makes up; `agent.py` starts it."""

import re
from collections.abc import Callable
from importlib import import_module
from inspect import Parameter, Signature
from typing import Annotated, Any

from pydantic import Field

try:
    kind: Any = import_module("mcp.server").MCPServer
except AttributeError:
    # Releases of the package before 2.0.
    kind = import_module("mcp.server.fastmcp").FastMCP

TOOLS = """
actions_list owner repo workflow? branch? status? page?: Lists the workflow runs of a repository, newest first.
actions_run_trigger owner repo workflow ref inputs?: Starts a workflow on a branch or tag.
add_issue_comment owner repo issue_number body: Adds a comment to an issue or pull request.
add_issue_reaction owner repo issue_number content: Adds a reaction to an issue or pull request.
add_pull_request_review_comment owner repo pull_number path line body: Comments on a line of a pull request.
add_sub_issue owner repo issue_number sub_issue_id: Adds a sub-issue to a parent issue.
create_branch owner repo branch from_branch?: Creates a branch.
create_gist filename content description? public?: Creates a gist.
create_issue owner repo title body? labels? assignees?: Opens an issue.
create_or_update_file owner repo path content message branch sha?: Writes one file and commits it.
create_pull_request owner repo title head base body? draft?: Opens a pull request.
create_repository name organization? description? private?: Creates a repository.
delete_file owner repo path message branch: Deletes a file and commits that.
fork_repository owner repo organization?: Forks a repository.
get_code_scanning_alert owner repo alert_number: Reads one code scanning alert.
get_commit owner repo sha: Reads a commit with the files that it changes.
get_dependabot_alert owner repo alert_number: Reads one alert on a dependency.
get_discussion owner repo discussion_number: Reads a discussion.
get_file_contents owner repo path ref?: Reads a file, or lists a folder.
get_job_logs owner repo job_id tail_lines?: Downloads the log of a workflow job.
get_latest_release owner repo: Reads the newest release.
get_me: Reads the account that is signed in.
get_repository_tree owner repo tree_sha? recursive?: Lists the files of a repository.
issue_read owner repo issue_number: Reads one issue with its comments.
issue_write owner repo issue_number title? body? state? labels? assignees?: Changes an issue.
list_branches owner repo page?: Lists the branches of a repository.
list_code_scanning_alerts owner repo state? severity? page?: Lists code scanning alerts.
list_commits owner repo sha? author? since? page?: Lists the commits of a branch, newest first.
list_dependabot_alerts owner repo state? severity? page?: Lists alerts on dependencies.
list_discussions owner repo category? page?: Lists the discussions of a repository.
list_issues owner repo state? labels? since? page?: Lists the issues of a repository.
list_notifications filter? since? page?: Lists what the account was notified of.
list_pull_requests owner repo state? head? base? page?: Lists the pull requests of a repository.
list_releases owner repo page?: Lists the releases of a repository.
list_tags owner repo page?: Lists the tags of a repository.
merge_pull_request owner repo pull_number merge_method? commit_title?: Merges a pull request.
pull_request_read owner repo pull_number method: Reads a pull request: its diff, its files, its reviews or its checks.
push_files owner repo branch message files: Commits several files at once.
request_pull_request_reviewers owner repo pull_number reviewers: Asks for reviews of a pull request.
search_code query page?: Searches code in all repositories.
search_issues query owner? repo? page?: Searches issues by words, labels, authors and dates.
search_repositories query page?: Finds repositories by name, description or topic.
search_users query page?: Finds accounts.
update_pull_request owner repo pull_number title? body? state? base?: Changes a pull request.
"""
MEANS = {
    "owner": "The account or organization that the repository belongs to.",
    "repo": "The name of the repository, without the account.",
    "state": "Which to list or what to set: open or closed.",
    "labels": "The names of labels, separated by commas.",
    "since": "Only what has changed since then, as ISO 8601.",
    "page": "The page of results to return, from 1 on.",
}


def list_issues(**asked: Any) -> dict[str, Any]:
    """Returns 400 issues, of which 300 are open."""
    issues = [
        {
            "number": n,
            "title": f"{('Crash', 'Typo', 'Slow page')[n % 3]} in the {('cart', 'search', 'login', 'mail')[n % 4]}",
            "state": "open" if n % 4 else "closed",
            "label": ("bug", "docs", "speed")[n % 3],
            "assignee": None if n % 5 == 0 else f"dev{n % 7}",
            "comments": n * 37 % 101,
            "updated_at": f"2026-{1 + n % 12:02}-{1 + n % 28:02}T08:00:00Z",
            "html_url": f"https://github.com/{asked['owner']}/{asked['repo']}/issues/{n}",
        }
        for n in range(1, 401)
    ]
    wanted = asked.get("state") or "open"
    return {"issues": [issue for issue in issues if issue["state"] == wanted]}


def add_issue_comment(**asked: Any) -> dict[str, Any]:
    """Returns where the comment is."""
    return {"html_url": "https://github.com/{owner}/{repo}/issues/{issue_number}#issuecomment-1".format(**asked)}


def declared(name: str, parameters: str, run: Callable[..., Any] | None) -> Callable[..., dict[str, Any]]:
    """Returns a tool with a parameter for each name. Those that end in a question mark may be left out."""

    def tool(**given: Any) -> dict[str, Any]:
        return run(**given) if run else {"error": f"this repository is made up and has no {name}"}

    tool.__name__ = name
    taken = []
    for each in parameters.split():
        parameter, default = each.rstrip("?"), None if each.endswith("?") else Parameter.empty
        of_kind = int if parameter.endswith(("_number", "_id", "page", "line", "lines")) else str
        says = Field(description=MEANS.get(parameter, f"The {parameter.replace('_', ' ')}."))
        taken.append(Parameter(parameter, Parameter.KEYWORD_ONLY, annotation=Annotated[of_kind, says], default=default))
    tool.__signature__ = Signature(taken, return_annotation=dict[str, Any])  # type: ignore[attr-defined]
    return tool


server = kind("github")
for found, listed, description in re.findall(r"^(\w+)(.*?): (.*)$", TOOLS, re.MULTILINE):
    runs = {"list_issues": list_issues, "add_issue_comment": add_issue_comment}.get(found)
    server.tool(description=description)(declared(found, listed, runs))

if __name__ == "__main__":
    server.run()
