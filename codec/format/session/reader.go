package session

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/store"
	"tapedeck/codec/training/align"
	"tapedeck/codec/training/episode"
)

// maxDamage is the greatest number of damaged places that are reported one by one.
const maxDamage = 100

// Source reads a session, or a folder of sessions.
type Source struct {
	episode.Findings
	files   *store.Files
	path    string
	folders []string // folders of the sessions
	more    int      // number of damaged places beyond maxDamage
}

var _ episode.Source = (*Source)(nil)

// Open opens the session in the folder path, or the sessions in folders of path.
func Open(files *store.Files, path string) (*Source, error) {
	folders, err := sessions(files, path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	if len(folders) == 0 {
		return nil, fmt.Errorf("open %s: %w: a session has a %s, a folder %s, or an arm's folder with a %s", path,
			codec.ErrUnknownFormat, metadataName, framesName, fileNames[episode.Joint])
	}
	return &Source{files: files, path: path, folders: folders}, nil
}

// sessions returns the folders of the sessions at path: path itself, or folders in it.
func sessions(files *store.Files, path string) ([]string, error) {
	entries, err := files.ReadDir(path)
	if err != nil {
		return nil, codec.Pathless(err)
	}
	if isSession(files, path, entries) {
		return []string{path}, nil
	}
	var folders []string
	for _, e := range entries {
		inner := store.Join(path, e.Name())
		if !isFolder(files, path, e) || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if entries, err := files.ReadDir(inner); err == nil && isSession(files, inner, entries) {
			folders = append(folders, inner)
		}
	}
	slices.SortFunc(folders, episode.CompareNames)
	return folders, nil
}

// isSession reports whether a folder is a session: it has frames, tables of an arm, or metadata of devices.
func isSession(files *store.Files, path string, entries []os.DirEntry) bool {
	for _, e := range entries {
		switch name := e.Name(); {
		case name == metadataName, name == metadataName+tempSuffix:
			if isMetadata(files, store.Join(path, name)) {
				return true
			}
		case name == framesName:
			if inner, err := files.ReadDir(store.Join(path, name)); err == nil &&
				slices.ContainsFunc(inner, func(e os.DirEntry) bool {
					return strings.HasPrefix(e.Name(), cameraPrefix)
				}) {
				return true
			}
		case isFolder(files, path, e):
			if isArm(files, store.Join(path, name)) {
				return true
			}
		}
	}
	return false
}

// isMetadata reports whether a file is the metadata of a session.
func isMetadata(files *store.Files, path string) bool {
	file, err := files.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	broken := false
	m := readMetadata(file, func(error) { broken = true })
	return !broken && (len(m.devices) > 0 || m.id != "")
}

// isArm reports whether a folder has a table of an arm.
func isArm(files *store.Files, path string) bool {
	for _, name := range append(fileNames[:], endEffector) {
		if stat, err := files.Stat(store.Join(path, name)); err == nil && stat.Mode().IsRegular() {
			return true
		}
	}
	return false
}

// isFolder reports whether an entry of the folder path is a folder, or a link to one.
func isFolder(files *store.Files, path string, e os.DirEntry) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.IsDir()
	}
	stat, err := files.Stat(store.Join(path, e.Name()))
	return err == nil && stat.IsDir()
}

// Episodes implements episode.Source. It reads whole tables, but no frames. It omits damaged data and lists it in
// Damage. All returned errors are errors of the disk.
func (s *Source) Episodes() (all []*episode.Episode, err error) {
	for _, folder := range s.folders {
		e, err := s.episode(folder)
		if err != nil {
			return all, err
		}
		all = append(all, e)
	}
	if s.more > 0 {
		s.Damage = append(s.Damage, fmt.Errorf("read %s: %d more damaged places", s.path, s.more))
	}
	return all, nil
}

// damaged adds an error to Damage, or counts it beyond maxDamage.
func (s *Source) damaged(err error) {
	if len(s.Damage) < maxDamage {
		s.Damage = append(s.Damage, err)
	} else {
		s.more++
	}
}

// missing adds an error about missing images of a camera to Damage.
func (s *Source) missing(folder, camera string, images int, err error) {
	s.damaged(&episode.MissingFileError{Path: folder, Camera: camera, Images: images, Err: err})
	s.Incomplete = true
}

// Close implements episode.Source.
func (s *Source) Close() error { return nil }

// episode reads a session.
func (s *Source) episode(folder string) (*episode.Episode, error) {
	m, complete, err := s.metadata(folder)
	if err != nil {
		return nil, err
	}
	s.Incomplete = s.Incomplete || !complete
	s.Events = append(s.Events, m.events...)
	name := folder
	if !store.IsURL(folder) {
		name, _ = filepath.Abs(folder)
	}
	e := &episode.Episode{Name: cmp.Or(m.id, store.Base(name)), Task: m.task, Start: m.start, End: m.end,
		Success: m.success, Discarded: m.discarded, Metadata: m.raw}
	entries, err := s.files.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		path := store.Join(folder, entry.Name())
		switch {
		case !isFolder(s.files, folder, entry):
		case entry.Name() == framesName:
			e.Cameras, err = s.cameras(path, m)
			if err != nil {
				return nil, err
			}
		case isArm(s.files, path):
			arm, err := s.arm(path, m, complete)
			if err != nil {
				return nil, err
			}
			if arm != nil {
				e.Arms = append(e.Arms, arm)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.devices)) {
		path := store.Join(folder, framesName, name)
		if _, err := s.files.Stat(path); strings.HasPrefix(name, cameraPrefix) && err != nil {
			s.missing(path, name, 0, codec.Pathless(err))
		}
	}
	slices.SortFunc(e.Arms, func(a, b *episode.Arm) int { return episode.CompareNames(a.Name, b.Name) })
	return e, nil
}

// metadata reads the metadata of a session, and reports whether the session was closed.
func (s *Source) metadata(folder string) (m *metadata, complete bool, err error) {
	for _, name := range []string{metadataName, metadataName + tempSuffix} {
		path := store.Join(folder, name)
		file, err := s.files.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, false, err
		}
		defer file.Close()
		wrong := func(err error) { s.damaged(fmt.Errorf("%s: %w", path, err)) }
		if name != metadataName {
			wrong = func(error) {} // an unfinished session has incomplete metadata
		}
		return readMetadata(file, wrong), name == metadataName, nil
	}
	return &metadata{}, false, nil
}

// arm reads the tables of an arm. It returns nil if all tables are empty. complete reports whether the session was
// closed.
func (s *Source) arm(folder string, m *metadata, complete bool) (*episode.Arm, error) {
	arm := &episode.Arm{Name: filepath.Base(folder)}
	arm.Device = m.devices[arm.Name]
	info, err := parseArm(arm.Device, unitOfEasyTeleop)
	arm.GripperRange = info.GripperRange
	if err != nil {
		s.damaged(fmt.Errorf("%s: device %.40q: %.100s", store.Join(store.Dir(folder), metadataName), arm.Name,
			err.Error()))
	}
	found := false
	for role := range episode.Roles {
		v, err := s.vector(folder, role, info.JointUnit, complete)
		if err != nil {
			return nil, err
		}
		if v != nil {
			v.Name = arm.Name + "/" + role.String()
			arm.Streams[role] = v
			found = true
		}
	}
	if !found {
		return nil, nil
	}
	return arm, nil
}

// vector reads the table of a role of an arm. It returns nil if the table is empty or does not exist.
func (s *Source) vector(folder string, role episode.Role, unit string, complete bool) (*align.Vector, error) {
	column := func(i, n int, index string) align.Column { return columnOf(role, i, n, index, unit) }
	v, err := readVector(s.files, store.Join(folder, fileNames[role]), complete, column, s.damaged)
	if err != nil || role != episode.Gripper {
		return v, err
	}
	other, err := readVector(s.files, store.Join(folder, endEffector), complete, column, s.damaged)
	if v == nil || err != nil {
		return other, err
	}
	if other != nil {
		s.damaged(fmt.Errorf("%s: not used, as there is a %s", store.Join(folder, endEffector),
			fileNames[episode.Gripper]))
	}
	return v, nil
}
