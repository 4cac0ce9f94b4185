package config

import (
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// version is the version of all executables. Their numbers are explained in docs/guide/install.md.
const version = "0.1.0"

// ShowVersion adds a text to the output of --version of a command that New returned. about is called when it is
// printed.
func ShowVersion(cmd *cobra.Command, about func() string) { loaderOf(cmd).about = about }

// versionText returns the version of a command: "0.1.0, commit 0123456789ab, go1.26.8" and the text of ShowVersion.
// Executables have a commit if they were built in a checkout.
func versionText(cmd *cobra.Command) string {
	texts := []string{version}
	if build, ok := debug.ReadBuildInfo(); ok {
		var commit, changed string
		for _, s := range build.Settings {
			switch {
			case s.Key == "vcs.revision":
				commit = s.Value[:min(12, len(s.Value))]
			case s.Key == "vcs.modified" && s.Value == "true":
				changed = " with changes"
			}
		}
		if commit != "" {
			texts = append(texts, "commit "+commit+changed)
		}
	}
	texts = append(texts, runtime.Version())
	if l := loaderOf(cmd); l != nil && l.about != nil {
		texts = append(texts, l.about())
	}
	return strings.Join(texts, ", ")
}
