package commands

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// A checkout is what git says of a commit and of the folder that lacuna runs in.
type checkout struct {
	commit string // full
	at     int64  // when it was committed, seconds since 1970
	branch string // "": no branch is checked out
	dirty  bool   // tracked files differ from HEAD
	why    string // nothing is known, because
}

// askGit asks about a commit, "" is HEAD.
func askGit(ctx context.Context, commit string) checkout {
	rev := commit
	if rev == "" {
		rev = "HEAD"
	}
	text, err := git(ctx, "log", "-1", "--format=%H %ct", "--end-of-options", rev, "--")
	if err != nil {
		why := "not in a git repository"
		if _, missing := exec.LookPath("git"); missing != nil {
			why = "git is not installed"
		}
		return checkout{commit: commit, branch: ciBranch(), why: why}
	}
	hash, at, _ := strings.Cut(text, " ")
	out := checkout{commit: hash}
	out.at, _ = strconv.ParseInt(at, 10, 64)
	if out.branch, _ = git(ctx, "symbolic-ref", "--short", "-q", "HEAD"); out.branch == "" {
		out.branch = ciBranch()
	}
	if changed, err := git(ctx, "status", "--porcelain", "--untracked-files=no"); err == nil && commit == "" {
		out.dirty = changed != ""
	}
	return out
}

func git(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", args...).Output()
	return strings.TrimSpace(string(out)), err
}

// ciBranch is the branch by the variables of CI systems, which check out a commit without a branch: GitHub's pull
// requests and pushes, GitLab.
func ciBranch() string {
	for _, name := range []string{"GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_REF_NAME"} {
		if v := os.Getenv(name); v != "" {
			return v
		}
	}
	return ""
}
