package rosbag2

import (
	"tapedeck/codec"
	"tapedeck/codec/cdr"
	"tapedeck/msgs"
	"tapedeck/msgs/rosidl"
)

// firstRows is how many messages are looked at for the first of each topic. There is no index by topic.
const firstRows = 1000

// fit replaces definitions that were taken from those at hand where the first message of a topic shows that they are
// another release's. Of topics without a message among the first ones, and without one that is CDR, they stay.
func (d *database) fit(guessed map[int64]bool) error {
	if len(guessed) == 0 {
		return nil
	}
	rows, err := d.db.Query("SELECT topic_id, data FROM messages WHERE id IN (SELECT min(id) FROM "+
		"(SELECT id, topic_id FROM messages ORDER BY id LIMIT ?) GROUP BY topic_id)", firstRows)
	if err != nil {
		return err
	}
	defer rows.Close()
	libraries := []*rosidl.Library{msgs.Library(), msgs.Release(""), msgs.Release("humble")}
	for rows.Next() {
		var id int64
		var payload []byte
		if err := rows.Scan(&id, &payload); err != nil {
			return err
		}
		// else it is compressed
		if c := d.channels[id]; guessed[id] && len(payload) > 4 && payload[0] == 0 && payload[1] <= 1 {
			c.Schema = fitting(libraries, c.Type, payload)
		}
	}
	return rows.Err()
}

// fitting returns the first definition that a payload fits, none if it fits none.
func fitting(libraries []*rosidl.Library, name string, payload []byte) codec.Schema {
	for _, l := range libraries {
		schema, err := cdr.NewSchema(l, name)
		if err == nil {
			_, err = schema.Decode(payload)
		}
		if err != nil {
			continue
		}
		if text, err := l.Concatenated(name); err == nil {
			return codec.Schema{Encoding: codec.SchemaROS2Msg, Data: []byte(text)}
		}
	}
	return codec.Schema{}
}
