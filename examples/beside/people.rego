package people

import rego.v1

old contains one.name if {
	some one in data.register
	one.born < "1962-01-01"
}

young contains one.name if {
	some one in data.register
	not one.born < "1962-01-01"
}

not_old contains one.name if {
	some one in data.register
	not one.name in old
}
