package msgs_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foxglove/mcap/go/mcap"
	"github.com/stretchr/testify/require"

	"tapedeck/msgs"
	"tapedeck/msgs/rosidl"
	"tapedeck/test/samples"
)

// TestLibraryIsComplete checks that all definitions parse, and that all contained messages are defined.
func TestLibraryIsComplete(t *testing.T) {
	t.Setenv("AMENT_PREFIX_PATH", "")
	l := msgs.Library()
	types := l.Types()
	require.Greater(t, len(types), 170)
	for _, name := range types {
		_, err := l.Hash(name)
		require.NoError(t, err)
		text, err := l.Concatenated(name)
		require.NoError(t, err)
		_, err = rosidl.ParseConcatenated(name, text)
		require.NoError(t, err)
	}
}

// TestRelease checks the numbers of fields of definitions that differ between releases.
func TestRelease(t *testing.T) {
	t.Setenv("AMENT_PREFIX_PATH", "")
	fields := func(l *rosidl.Library, name string) int {
		m, err := l.Message("rosbag2_interfaces/" + name)
		require.NoError(t, err)
		return len(m.Fields)
	}
	for release, want := range map[string][4]int{
		"": {3, 2, 2, 3}, "humble": {0, 1, 0, 2}, "iron": {0, 1, 0, 2}, "jazzy": {0, 1, 0, 3}, "kilted": {0, 1, 0, 3},
		"lyrical": {3, 2, 2, 3}, "rolling": {3, 2, 2, 3},
	} {
		t.Setenv("ROS_DISTRO", release)
		for _, l := range []*rosidl.Library{msgs.Release(release), msgs.Library()} {
			got := [4]int{fields(l, "srv/Resume_Request"), fields(l, "srv/Record_Request"),
				fields(l, "srv/Stop_Response"),
				fields(l, "msg/WriteSplitEvent")}
			require.Equal(t, want, got, release)
		}
	}
}

// TestHash compares hashes with published hashes: of ROS 2 Jazzy, of CARLA's CdrTopicInfo.h, of libraries in other
// languages, and of mavros 2.12.
func TestHash(t *testing.T) {
	t.Setenv("AMENT_PREFIX_PATH", "")
	folder := filepath.Join(t.TempDir(), "example_interfaces")
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "action"), 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "action", "Fibonacci.action"),
		[]byte("int32 order\n---\nint32[] sequence\n---\nint32[] sequence\n"), 0o666))
	l := msgs.Library(folder)
	for name, want := range map[string]string{
		"action_msgs/msg/GoalStatusArray":    "6c1684b00f177d37438febe6e709fc4e2b0d4248dca4854946f9ed8b30cda83e",
		"action_msgs/srv/CancelGoal_Request": "3d3c84653c1f96918086887e1dcb236faec88b81a5b14fd4cf4840065bcdf8af",

		"example_interfaces/action/Fibonacci_FeedbackMessage":   "c1de71afd52e49a89c53d8262366884185bc0a02f78ce051c4e46b0a7fe59bb2",
		"example_interfaces/action/Fibonacci_GetResult_Request": "c8a4f5e7d13b81286ee1043e2ecd084281cecf1ff06aaa799464f5f15479f003",
		"example_interfaces/action/Fibonacci_SendGoal_Request":  "3d088942b413247db536576f0286768c6be8fcd5d0c9a5d544f359fba090a238",

		"ackermann_msgs/msg/AckermannDriveStamped":   "48ca7612a08d3bb72744fd98b71b7cf2ea24c6ad50fa4e1aa0bbad963c90d8cf",
		"nav_msgs/msg/Odometry":                      "3cc97dc7fb7502f8714462c526d369e35b603cfc34d946e3f2eda2766dfec6e0",
		"rosgraph_msgs/msg/Clock":                    "692f7a66e93a3c83e71765d033b60349ba68023a8c689a79e48078bcb5c58564",
		"sensor_msgs/msg/CameraInfo":                 "b3dfd68ff46c9d56c80fd3bd4ed22c7a4ddce8c8348f2f59c299e73118e7e275",
		"sensor_msgs/msg/Image":                      "d31d41a9a4c4bc8eae9be757b0beed306564f7526c88ea6a4588fb9582527d47",
		"sensor_msgs/msg/Imu":                        "7d9a00ff131080897a5ec7e26e315954b8eae3353c3f995c55faf71574000b5b",
		"sensor_msgs/msg/NavSatFix":                  "62223ab3fe210a15976021da7afddc9e200dc9ec75231c1b6a557fc598a65404",
		"sensor_msgs/msg/PointCloud2":                "9198cabf7da3796ae6fe19c4cb3bdd3525492988c70522628af5daa124bae2b5",
		"std_msgs/msg/Float32":                       "7170d3d8f841f7be3172ce5f4f59f3a4d7f63b0447e8b33327601ad64d83d6e2",
		"std_msgs/msg/Header":                        "f49fb3ae2cf070f793645ff749683ac6b06203e41c891e17701b1cb597ce6a01",
		"std_msgs/msg/String":                        "df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18",
		"tf2_msgs/msg/TFMessage":                     "e369d0f05a23ae52508854b66f6aa0437f3449d652e8cbf22d5abe85d020f087",
		"carla_msgs/msg/CarlaActorInfo":              "2ca0a6e2b412f1ffeea438bde6683b1be0e46c52925ac45a6fe91f8cb3c4371c",
		"carla_msgs/msg/CarlaActorList":              "9c84c0e4b7513532a2943a25c75d4a139d48f31288f5a2b68c289f1e0a0b1be1",
		"carla_msgs/msg/CarlaBoundingBox":            "64150a58baddf4ecdfd2adcc41b74bc2a7caaa1677545e971b47623ca1c31b63",
		"carla_msgs/msg/CarlaCollisionEvent":         "d77acb472c5effb98998bfb2e176ae3ffac0a84ce33a79f90e999544e3fcfeff",
		"carla_msgs/msg/CarlaControl":                "7053e4e9ec21223b8f3a67944cc19fac0e419791a87e59438a56ba9efce2a9ac",
		"carla_msgs/msg/CarlaEgoVehicleControl":      "4f251fa2a554e8ed996f77eb1d5b65515af1369eceb04d5122cb5761f7801be3",
		"carla_msgs/msg/CarlaEgoVehicleInfo":         "b8dc3866014924ce7fe57e0cff05a5448ec18f27156656b3b1b69f4da558e956",
		"carla_msgs/msg/CarlaEgoVehicleInfoWheel":    "63caae9f2637752b93a616b10e00d21be15ca32cac533efd3596349a5cf4d4fe",
		"carla_msgs/msg/CarlaEgoVehicleStatus":       "3565cc74470f5c37eb316a36426effd811ac1baf835df3fc2bb7a88574bb3e07",
		"carla_msgs/msg/CarlaLaneInvasionEvent":      "ec4d0e28a97c4a7952a100d47a801996d0463ad7fe0e08a96049de4b19656508",
		"carla_msgs/msg/CarlaStatus":                 "a3f7fb6fc4b673840e0c092c3c9e52a8120885ba603e0125a23f58ac279c0c13",
		"carla_msgs/msg/CarlaTrafficLightInfo":       "c6bc358a736c0843889a6f65d8070f9891619a250fcc58ad51ffb9f87dd138b4",
		"carla_msgs/msg/CarlaTrafficLightInfoList":   "9a13ecb7abe8b5b53c9dc5b7794981c90bd04b0556f8ab66cf26863ac600fde6",
		"carla_msgs/msg/CarlaTrafficLightStatus":     "e4a58f6956c9d395f8aa8df33b6aa2765cb83c8522ec3e676196dc49485bf0b8",
		"carla_msgs/msg/CarlaTrafficLightStatusList": "07f3b9ec436d9925e8b55f229d420336a997e824911afdb299f2dd0f32a26268",
		"carla_msgs/msg/CarlaWalkerControl":          "ccb5ec377b88a20b0f341db32d7fcf93a31bbd13662ae1b19dadbe12483c6b88",
		"carla_msgs/msg/CarlaWeatherParameters":      "85e1bba9e8fc0f7bf769d09771c4b2b75ff9702cd486df24e153c74232e26216",
		"carla_msgs/msg/CarlaWorldInfo":              "b7093c2a34078b682bef09c0e60c76b06542f8ab4ea69756f9505ca06655e9ab",
		"carla_msgs/msg/LaneInvasionEvent":           "1d81c780738761101e1b4cb165af96ed32b8aa5cd523713c9b28d1ee95af719b",
		"mavros_msgs/msg/GPSRAW":                     "4b28d7cc90fca641477ac030408be50b691b350a1ff03a2750ab49b4be651238",
		"mavros_msgs/msg/RCIn":                       "3dcc8e91d63f42d512ed29e767fc89fba216634f354c42467163a2b6f68f857e",
		"mavros_msgs/msg/State":                      "11ba7686163d22281871f1cb42557e8957407469b0be813bdb1a8922c66e3131",
		"mavros_msgs/msg/SysStatus":                  "ebe10b5bec410317a3c59430fda604262624468a2067302f27f8490993720b10",
		"mavros_msgs/msg/VfrHud":                     "8a121968bf046a1f0f3e5074c8fed9db9ca5b6a8c0a2ee44c09c0f6a5fb88e8f",
		"rcl_interfaces/msg/Log":                     "e28ce254ca8abc06abf92773b74602cdbf116ed34fbaf294fb9f81da9f318eac",
		"rcl_interfaces/msg/ParameterEvent":          "043e627780fcad87a22d225bc2a037361dba713fca6a6b9f4b869a5aa0393204",
		"rcl_interfaces/srv/DescribeParameters":      "845b484d71eb0673dae682f2e3ba3c4851a65a3dcfb97bddd82c5b57e91e4cff",
		"rcl_interfaces/srv/GetParameterTypes":       "da199c878688b3e530bdfe3ca8f74cb9fa0c303101e980a9e8f260e25e1c80ca",
		"rcl_interfaces/srv/GetParameters":           "bf9803d5c74cf989a5de3e0c2e99444599a627c7ff75f97b8c05b01003675cbc",
		"rcl_interfaces/srv/ListParameters":          "3e6062bfbb27bfb8730d4cef2558221f51a11646d78e7bb30a1e83afac3aad9d",
		"rcl_interfaces/srv/SetParameters":           "56eed9a67e169f9cb6c1f987bc88f868c14a8fc9f743a263bc734c154015d7e0",
		"rcl_interfaces/srv/SetParametersAtomically": "0e192ef259c07fc3c07a13191d27002222e65e00ccec653ca05e856f79285fcd",
		"sensor_msgs/srv/SetCameraInfo":              "a10cca5d33dc637c8d49db50ab288701a3592bb9cd854f2f16a0659613b68984",
		"std_srvs/srv/Empty":                         "5888399dedec5ccc85ea6451949fd2c9f97bfdf963f9a588821639fcd31b5d19",
		"std_srvs/srv/SetBool":                       "abe9e4bb6b41b40e6789712c00ec8871923e089af3f667a79992a428cff2da0a",
		"std_srvs/srv/SetBool_Event":                 "3c4c20015afb4303eafd347b1d6a786f171a89c814726961a9593ef10df878cf",
		"std_srvs/srv/SetBool_Response":              "d0814e7f7b4880ab77e9c57426c7aa1562ab69f11eef8e2e968812f9cbd0b059",
		"std_srvs/srv/Trigger":                       "eeff2cd6fa5ad9d27cdf4dec64818317839b62f212a91e6b5304b634b2062c5f",
		"std_srvs/srv/Trigger_Event":                 "ec4a1d26b0575e61906890342aba9523a2360e9845857c5590fa6e23bc39e1c2",
		"std_srvs/srv/Trigger_Request":               "d010825374ce8918e72bfd826c82603e60f45419e932ea976f807b74a863a199",

		"unique_identifier_msgs/msg/UUID":  "1b8e8aca958cbea28fe6ef60bf6c19b683c97a9ef60bb34752067d0f2f7ab437",
		"vision_msgs/msg/Detection3DArray": "793f5eab9595ac1c0da07873cc859db42eae51f0ee76056db8562515d830e018",
		"visualization_msgs/msg/Marker":    "45b13ccf791f225962bf74e746f9644518855d783a6f42ba0cc14fde2b4f3ce0",

		"type_description_interfaces/msg/TypeDescription":    "739f2508c9fa3a6f330913ff5b9d25fb74159a077da71e1087f51a60c12a080b",
		"type_description_interfaces/srv/GetTypeDescription": "69b9c19c1021405984cc60dbbb1edceb147a6538b411d812ba6afabeed962cd5",
	} {
		hash, err := l.Hash(name)
		require.NoError(t, err)
		require.Equal(t, "RIHS01_"+want, hash, name)
	}
}

// TestLibraryFolders checks the precedence of folders, and the kinds of folders.
func TestLibraryFolders(t *testing.T) {
	dir := t.TempDir()
	write := func(path, text string) {
		path = filepath.Join(dir, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	write("packages/a_msgs/msg/A.msg", "bool from_packages\n")
	write("prefix/share/b_msgs/msg/B.msg", "bool from_prefix\n")
	write("prefix/share/std_msgs/msg/Bool.msg", "bool from_prefix\n")
	write("prefix/share/std_msgs/msg/Int8.msg", "bool from_prefix\n")
	write("folder/msg/C.msg", "bool from_folder\n")
	write("named/msg/D.msg", "bool from_named\n")
	write("named/package.xml", "<?xml version=\"1.0\"?>\n<package format=\"3\"><name>d_msgs</name></package>\n")
	write("override/std_msgs/msg/Bool.msg", "bool from_override\n")
	t.Setenv("AMENT_PREFIX_PATH", filepath.Join(dir, "nothing")+string(filepath.ListSeparator)+filepath.Join(dir,
		"prefix"))

	l := msgs.Library(filepath.Join(dir, "packages"), filepath.Join(dir, "folder"), filepath.Join(dir, "named"),
		filepath.Join(dir, "override"))
	for name, want := range map[string]string{
		"a_msgs/msg/A":      "from_packages",
		"b_msgs/msg/B":      "from_prefix",
		"folder/msg/C":      "from_folder",
		"d_msgs/msg/D":      "from_named",
		"std_msgs/msg/Bool": "from_override",
		"std_msgs/msg/Int8": "from_prefix",
		"std_msgs/msg/Char": "data",
	} {
		m, err := l.Message(name)
		require.NoError(t, err)
		require.Equal(t, want, m.Fields[0].Name, name)
		require.Contains(t, l.Types(), name)
	}
}

// TestSamples reads the schemas of real MCAP files.
func TestSamples(t *testing.T) {
	t.Setenv("AMENT_PREFIX_PATH", "")
	root := samples.Path(t, "rosbag2")
	embedded := msgs.Library()
	compared := 0
	require.NoError(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".mcap" {
			return err
		}
		f, err := os.Open(path)
		require.NoError(t, err)
		defer f.Close()
		r, err := mcap.NewReader(f)
		require.NoError(t, err)
		defer r.Close()
		info, err := r.Info()
		require.NoError(t, err)
		for _, s := range info.Schemas {
			l, err := rosidl.ParseConcatenated(s.Name, string(s.Data))
			require.NoError(t, err, path)

			text, err := l.Concatenated(s.Name)
			require.NoError(t, err)
			switch {
			case strings.HasSuffix(s.Name, "_Event"): // the file is older than the line "SRV:"
				require.True(t, strings.HasSuffix(text, "\n"+string(s.Data)))
			case !strings.Contains(path, "rosbags_rs") && s.Name != "rcl_interfaces/msg/ParameterEvent":
				require.Equal(t, string(s.Data), text) // other texts have another order, or repeat definitions
			}

			hash, err := l.Hash(s.Name)
			require.NoError(t, err)
			for _, c := range info.Channels {
				if want := c.Metadata["topic_type_hash"]; c.SchemaID == s.ID && want != "" {
					require.Equal(t, want, hash, s.Name)
					compared++
				}
			}
			if s.Name == "rosbag2_interfaces/msg/WriteSplitEvent" || s.Name == "sensor_msgs/msg/Range" {
				continue // recorded before the types had node_name and variance
			}
			want, err := embedded.Hash(s.Name)
			if errors.Is(err, rosidl.ErrUnknownType) {
				require.Regexp(t, "^(test_msgs|stereo_msgs)/", s.Name)
				continue
			}
			require.NoError(t, err)
			require.Equal(t, want, hash, s.Name)
			compared++
		}
		return nil
	}))
	require.Greater(t, compared, 90)
}
