package main

import (
	"fmt"
	"io"
	"strings"

	"tapedeck/bridge/device/v4l2"
	"tapedeck/codec/text/human"
)

// list prints the cameras of a system with their formats and controls.
func list(w io.Writer, system v4l2.System) error {
	nodes, err := system.Nodes()
	if err != nil {
		return fmt.Errorf("list cameras: %w", err)
	}
	if len(nodes) == 0 {
		fmt.Fprintln(w, "no V4L2 devices found")
	}
	for _, n := range nodes {
		fmt.Fprintf(w, "%s  %s", n.Path, human.Printable(n.Name))
		if n.Serial != "" {
			fmt.Fprintf(w, "  serial %s", human.Printable(n.Serial))
		}
		fmt.Fprintln(w)
		if err := listNode(w, system, n.Path); err != nil {
			fmt.Fprintf(w, "  %v\n", err)
		}
	}
	return nil
}

// listNode prints formats and controls of a device.
func listNode(w io.Writer, system v4l2.System, path string) error {
	c, err := v4l2.Open(system, path)
	if err != nil {
		return err
	}
	defer c.Close()
	formats, err := c.Formats()
	if err != nil {
		return err
	}
	for _, f := range formats {
		fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("  %v  %s", f.FourCC, human.Printable(f.Description)), " "))
		sizes, err := c.Sizes(f.FourCC)
		if err != nil {
			return err
		}
		for _, s := range sizes {
			rates, err := c.Rates(f.FourCC, s.MaxWidth, s.MaxHeight)
			if err != nil {
				return err
			}
			fmt.Fprintf(w, "    %v", s)
			for i, r := range rates {
				fmt.Fprint(w, []string{" at ", ", "}[min(i, 1)], r)
			}
			fmt.Fprintln(w)
		}
	}
	controls, err := c.Controls()
	if err != nil {
		return err
	}
	for _, k := range controls {
		fmt.Fprintf(w, "  %s", human.Printable(k.Name))
		switch {
		case k.Menu != nil:
			var items []string
			for _, item := range k.Menu {
				items = append(items, fmt.Sprintf("%d (%s)", item.Index, human.Printable(item.Text)))
			}
			fmt.Fprintf(w, "  %s, by default %d", strings.Join(items, ", "), k.Default)
		case k.Type != v4l2.ButtonControl:
			fmt.Fprintf(w, "  %d to %d in steps of %d, by default %d", k.Min, k.Max, k.Step, k.Default)
		}
		if k.ReadOnly || k.Inactive {
			fmt.Fprint(w, ", cannot be set now")
		}
		fmt.Fprintln(w)
	}
	return nil
}
