package sqlite

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/format/rosbag2/internal/sqlitetest"
)

// statements returns the statements that make a database with rows of all kinds, some on many pages, and deleted rows.
func statements(rows int) []string {
	return []string{
		`CREATE TABLE "odd ""names"(id INTEGER PRIMARY KEY, [a b] TEXT, -- a, comment
			"c""d" REAL DEFAULT(1 + 2), /* and, another */ ` + "`e`" + ` BLOB CHECK (e <> x'01'), 'f' INT,
			UNIQUE (f), CONSTRAINT x CHECK (f > 0))`,
		`INSERT INTO "odd ""names" VALUES (7, 'Grüße, 𝄞', 1.5, x'3132', 1)`,
		`INSERT INTO "odd ""names" VALUES (9, NULL, -0.25, NULL, 9223372036854775807)`,
		`ALTER TABLE "odd ""names" ADD COLUMN late TEXT`,
		`INSERT INTO "odd ""names" VALUES (-3, printf('%.*c', 9000, 'ü'), 2.5, x'', 3, 'Ende')`,
		"CREATE TABLE m(id INTEGER PRIMARY KEY, topic INTEGER, t INTEGER, data BLOB)",
		"CREATE INDEX i ON m (t ASC)",
		"BEGIN",
		fmt.Sprintf("WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k+1 FROM n WHERE k < %d) INSERT INTO m "+
			"SELECT k, k%%5, k*7919%%3001-1500, CASE k%%500 "+
			"WHEN 100 THEN CAST(printf('%%.*c', 40000+k, char(65+k%%26)) AS BLOB) WHEN 1 THEN NULL "+
			"ELSE CAST(printf('%%.*c', k%%61*9, char(65+k%%26)) AS BLOB) END FROM n", rows),
		"UPDATE m SET t = NULL WHERE id%70 = 3",
		"DELETE FROM m WHERE id%11 = 4",
		"INSERT INTO m SELECT id+100000, topic, t+5000, zeroblob(id%37*50) FROM m WHERE id%3 = 1",
		"COMMIT",
	}
}

// queries are the queries whose results contents returns.
var queries = []string{
	`SELECT id, "a b", "c""d", hex(e), f, late FROM "odd ""names" ORDER BY id`,
	"SELECT id, topic, t, hex(data) FROM m ORDER BY id",
	"SELECT t, id FROM m WHERE t NOTNULL ORDER BY t, id",
}

// dumpDatabase returns the results of queries, as SQLite prints them.
func dumpDatabase(d *Database) (lines []string, err error) {
	objects, err := d.Objects()
	if err != nil {
		return nil, err
	}
	roots := map[string]int64{}
	for _, o := range objects {
		roots[o.Name] = int64(o.Root)
		if o.Name == `odd "names` {
			err = d.Select(&o, []string{"id", "a b", `c"d`, "e", "f", "late"}, func(v []Value) {
				lines = append(lines, fmt.Sprintf("%d|%s|%s|%X|%s|%s", v[0].Int, v[1].Text, v[2].Text, v[3].Text,
					v[4].Text, v[5].Text))
			})
			if err != nil {
				return nil, err
			}
		}
	}
	var ids []int64
	err = d.Table(roots["m"], func(r *Row) { ids = append(ids, r.ID) })
	if err != nil {
		return nil, err
	}
	text := func(c Column, record []byte) string {
		if c.Kind == Blob {
			return fmt.Sprintf("%X", c.Value(record))
		}
		return d.Text(&c, record)
	}
	var record []byte
	for _, id := range ids {
		r, err := d.Find(roots["m"], id)
		if err == nil && (r == nil || r.ID != id || len(r.Columns) != 4) {
			err = errTree
		}
		if err == nil {
			record, err = d.Record(r.Place, record[:0])
		}
		if err != nil {
			return nil, err
		}
		c := r.Columns
		lines = append(lines, fmt.Sprintf("%d|%s|%s|%s", id, text(c[1], record), text(c[2], record),
			text(c[3], record)))
	}
	entries, _, err := d.Entries(roots["i"], Range{From: Entry{Value: -1 << 60}, To: LastEntry})
	for _, e := range entries {
		lines = append(lines, fmt.Sprintf("%d|%d", e.Value, e.ID))
	}
	return lines, err
}

// TestPeer reads databases that SQLite writes.
func TestPeer(t *testing.T) {
	type layout struct {
		name   string
		before []string
		rows   int
	}
	var layouts []layout
	encodings := []string{"UTF-8", "UTF-16le", "UTF-16be"}
	for i, size := 0, 512; size <= 1<<16; i, size = i+1, 2*size {
		encoding := encodings[i%3]
		layouts = append(layouts, layout{fmt.Sprint("pages of ", size, ", ", encoding), []string{
			fmt.Sprint("PRAGMA page_size=", size), fmt.Sprintf("PRAGMA encoding='%s'", encoding),
		}, 3000})
	}
	layouts = append(layouts,
		layout{"pages that move", []string{"PRAGMA page_size=1024", "PRAGMA auto_vacuum=full"}, 3000},
		layout{"reserved bytes", []string{"PRAGMA page_size=512", ".filectrl reserve_bytes 32", "VACUUM"}, 3000},
		layout{"many depths", []string{"PRAGMA page_size=512"}, 40_000},
		layout{"few rows", nil, 10},
	)
	for _, l := range layouts {
		t.Run(l.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.db3")
			sqlitetest.Run(t, path, append(l.before, statements(l.rows)...)...)
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			d, err := NewDatabase(bytes.NewReader(data), int64(len(data)))
			require.NoError(t, err)
			require.NoError(t, d.Cut())
			got, err := dumpDatabase(d)
			require.NoError(t, err)
			requireLines(t, sqlitetest.Run(t, path, queries...), got)

			require.Equal(t, sqlitetest.Run(t, path, "PRAGMA freelist_count")[0] != "0", d.Unused())
			ends := sqlitetest.Run(t, path, "SELECT min(id), max(id), (SELECT rootpage FROM sqlite_schema "+
				"WHERE name = 'm') FROM m")[0]
			var first, last, root int64
			_, err = fmt.Sscanf(ends, "%d|%d|%d", &first, &last, &root)
			require.NoError(t, err)
			gotFirst, gotLast, err := d.Ends(root)
			require.NoError(t, err)
			require.Equal(t, []int64{first, last}, []int64{gotFirst, gotLast})
			for _, id := range []int64{first - 1, 4, last + 1} {
				r, err := d.Find(root, id)
				require.NoError(t, err)
				require.Nil(t, r)
			}
		})
	}
}

// requireLines is require.Equal for many long lines.
func requireLines(t *testing.T, want, got []string) {
	t.Helper()
	require.Len(t, got, len(want))
	for i, line := range want {
		if line != got[i] {
			require.Equal(t, line, got[i], "line %d", i)
		}
	}
}

// TestPeerLog reads transactions that are only in the write-ahead log.
func TestPeerLog(t *testing.T) {
	for _, size := range []int{512, 4096, 1 << 16} {
		t.Run(fmt.Sprint("pages of ", size), func(t *testing.T) {
			path, killed := filepath.Join(t.TempDir(), "a.db3"), t.TempDir()
			script := append([]string{fmt.Sprint("PRAGMA page_size=", size), "PRAGMA journal_mode=WAL",
				"PRAGMA wal_autocheckpoint=0"}, statements(3000)...)
			script = append(script, "PRAGMA wal_checkpoint(FULL)", "DELETE FROM m WHERE id%5 = 0",
				"INSERT INTO m SELECT id+200000, topic, t, data FROM m WHERE id%50 = 1",
				fmt.Sprintf(".system cp %s %[1]s-wal %s", path, killed))
			sqlitetest.Run(t, path, script...)
			path = filepath.Join(killed, "a.db3")
			file, err := os.ReadFile(path)
			require.NoError(t, err)
			log, err := os.ReadFile(path + "-wal")
			require.NoError(t, err)
			require.True(t, UsesLog(bytes.NewReader(file)))
			all, err := NewLogged(bytes.NewReader(file), int64(len(file)), bytes.NewReader(log), int64(len(log)))
			require.NoError(t, err)
			d, err := NewDatabase(all, all.Size())
			require.NoError(t, err)
			got, err := dumpDatabase(d)
			require.NoError(t, err)
			requireLines(t, sqlitetest.Run(t, path, queries...), got)
		})
	}
}

// TestPeerDamage damages a database. If neither SQLite nor we find a fault, we must read the same rows.
func TestPeerDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db3")
	sqlitetest.Run(t, path, append([]string{"PRAGMA page_size=512"}, statements(150)...)...)
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	seed := rand.Uint64()
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	rounds := 500
	if testing.Short() {
		rounds = 60
	}
	text := regexp.MustCompile("ü|CREATE|TABLE|INTEGER|CHECK") // damage of these texts changes lines or columns
	equal, stricter := 0, 0
	for range rounds {
		data := bytes.Clone(whole)
		page := data[random.IntN(len(data)/512)*512:][:512]
		for text.Match(page) {
			page = data[random.IntN(len(data)/512)*512:][:512]
		}
		switch random.IntN(4) {
		case 0:
			data = data[:random.IntN(len(data))]
		case 1:
			clear(page)
		case 2:
			page[random.IntN(12)] = byte(random.Uint32())
		default:
			page[random.IntN(512)] ^= 1 << random.IntN(8)
		}
		require.NoError(t, os.WriteFile(path, data, 0o666))
		d, err := NewDatabase(bytes.NewReader(data), int64(len(data)))
		require.NoError(t, err)
		got, err := dumpDatabase(d)
		if err == nil {
			err = d.Cut()
		}
		want, theirs := sqlitetest.Try(t, path, slices.Concat([]string{"PRAGMA integrity_check"}, queries)...)
		switch {
		case theirs != nil || want[0] != "ok":
		case err != nil:
			stricter++ // for example about a record that is longer than its columns
		default:
			requireLines(t, want[1:], got)
			equal++
		}
	}
	require.Greater(t, equal, rounds/20)
	require.Less(t, stricter, rounds/20)
}
