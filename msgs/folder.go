package msgs

import (
	"encoding/xml"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// packageFS is a folder of packages that contains only the folder of one package.
type packageFS struct {
	name   string
	folder fs.FS
}

// newPackageFS returns a packageFS of a folder. The name of the package comes from package.xml, or else from the
// folder.
func newPackageFS(folder string) fs.FS {
	abs, err := filepath.Abs(folder)
	if err != nil {
		abs = folder
	}
	p := packageFS{name: filepath.Base(abs), folder: os.DirFS(folder)}
	if text, err := fs.ReadFile(p.folder, "package.xml"); err == nil {
		var manifest struct {
			Name string `xml:"name"`
		}
		if xml.Unmarshal(text, &manifest) == nil && manifest.Name != "" {
			p.name = strings.TrimSpace(manifest.Name)
		}
	}
	return p
}

// Open implements fs.FS.
func (p packageFS) Open(name string) (fs.File, error) {
	if inner, ok := strings.CutPrefix(name, p.name+"/"); ok {
		return p.folder.Open(inner)
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// Glob implements fs.GlobFS, for patterns whose first element is "*".
func (p packageFS) Glob(pattern string) ([]string, error) {
	_, inner, _ := strings.Cut(pattern, "/")
	found, err := fs.Glob(p.folder, inner)
	for i := range found {
		found[i] = p.name + "/" + found[i]
	}
	return found, err
}
