package lerobot

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"tapedeck/codec/blob"
	"tapedeck/codec/episode"
	"tapedeck/msgs/plural"
)

// verify reads a dataset back: all numbers, the first and last image of each camera in each episode, or the number of
// frames in videos.
func verify(path string, videos bool, episodes, rows int) error {
	s, err := Open(path)
	if err != nil {
		return err
	}
	all, err := s.Episodes()
	if err != nil {
		return err
	}
	if len(all) != episodes {
		return fmt.Errorf("%s, want %d", plural.Count(len(all), "episode"), episodes)
	}
	if s.rowCount != rows {
		return fmt.Errorf("%s, want %d", plural.Count(s.rowCount, "row"), rows)
	}
	if !videos {
		for _, e := range all {
			for _, c := range e.Cameras {
				err := c.EachFrame([]int{0, len(c.Stamps) - 1}, func(_ int, f *episode.Frame) error {
					_, err := look(f)
					return err
				})
				if err != nil {
					return fmt.Errorf("%s: %s: %w", e.Name, c.Name, err)
				}
			}
		}
		return nil
	}
	for _, f := range s.info.Features {
		if f.DType != "video" {
			continue
		}
		files, err := blob.Glob(filepath.Join(path, "videos", f.key), "*/*.mp4")
		if err != nil {
			return err
		}
		frames := 0
		for _, file := range files {
			n, err := countFrames(file)
			if err != nil {
				return err
			}
			frames += n
		}
		if frames != rows {
			return fmt.Errorf("videos of %s have %s, want %d", f.key, plural.Count(frames, "frame"), rows)
		}
	}
	return nil
}

// countFrames returns the number of frames in a video by ffmpeg.
func countFrames(path string) (int, error) {
	command := exec.Command("ffmpeg", "-v", "error", "-nostdin", "-i", path, "-map", "0:v", "-c", "copy", "-f",
		"framecrc", "-")
	out, err := command.Output()
	if err != nil {
		return 0, fmt.Errorf("read %s with ffmpeg: %w", path, err)
	}
	n := 0
	for line := range strings.Lines(string(out)) {
		if _, err := strconv.Atoi(strings.TrimSpace(strings.SplitN(line, ",", 2)[0])); err == nil {
			n++
		}
	}
	return n, nil
}
