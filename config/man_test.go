package config

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestManPage(t *testing.T) {
	const long = "Records topics.\n.Here a line begins with a dot."
	root := New("recorder [topics...]", "record topics", long, defaults(), nil)
	root.AddCommand(New("trigger", "fire", "Fires.", &twoTexts{}, nil))
	Examples(root, `recorder -e '\d' # by expression`)
	var out bytes.Buffer
	root.SetOut(&out)
	require.NoError(t, Execute(context.Background(), root, []string{"--help", "man"}))
	for _, part := range []string{
		".TH RECORDER 1 \"\" \"tapedeck " + version + "\" tapedeck\n.SH NAME\nrecorder \\- record topics\n" +
			".SH SYNOPSIS\n.nf\nrecorder [topics...] [flags]\nrecorder COMMAND\n.fi\n",
		".SH DESCRIPTION\nRecords topics.\n\\&.Here a line begins with a dot.\n",
		".SH EXAMPLES\n.TP\n\\fBrecorder \\-e '\\ed'\\fR\nby expression\n",
		".SS Topics\n.TP\n\\fB\\-\\-topics\\fR \\fITEXT\\fR\n" +
			"Record this topic. (may be repeated) Default: /tf,/clock.\n" +
			".TP\n\\fB\\-a\\fR, \\fB\\-\\-all\\fR\nRecord every topic.\n",
		"parameter \\fBcamera.debug\\fR\nSay more.\n",
		".SH COMMANDS\n.SS recorder trigger\nFires.\n.PP\n.TP\n\\fB\\-\\-given\\fR \\fITEXT\\fR\nA sentence.\n",
	} {
		require.Contains(t, out.String(), part)
	}
}
