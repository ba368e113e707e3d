"""Finds the fields of JSON outputs in the C++ source. Reads functions that return nlohmann::json made of {"key", value}
pairs."""
import re

from declarations import declarations, uniform

STRING = re.compile(r"(?:json\()?(?:spelling\(|name\(|to_string\(|task_name\(|date_and_time\(|\"|[\w.>()-]+\.(?:name\(\)|string\(\)|what))")
INTEGERS = r"(?:std::)?(?:u?int\d+_t|size_t)|unsigned|int|long|Duration|Bytes|Bandwidth|Frequency|Instant"
PLAIN = ((r"bool", "boolean"), (r"double|float", "number"), (r"std::string(?:_view)?|(?:std::filesystem|fs)::path", "string"), (INTEGERS, "integer"))
UNITS = ("count", "hertz", "bytes_per_second")  # members that hold the number of a value with a unit


def closing(text, start):
    """Returns the position of the bracket that closes the bracket at `start`."""
    depth = 0
    for token in re.compile(r'"(?:\\.|[^"\\])*"|[(\[{]|[)\]}]').finditer(text, start):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(token[0], 0)
        if depth == 0:
            return token.start()
    raise ValueError(f"nothing closes: {text[start:start + 60]}")


def pairs(text):
    """Yields the (key, value) of each outermost {"key", value} pair."""
    place, pattern = 0, re.compile(r'\{"(\w+)",\s*')
    while found := pattern.search(text, place):
        place = closing(text, found.start())
        yield found[1], " ".join(text[found.end():place].split())


def alternatives(value):
    """Returns the alternatives of a conditional expression. For any other value, returns only the value."""
    depth, places = 0, {}
    for token in re.finditer(r'"(?:\\.|[^"\\])*"|[(\[{]|[)\]}]| [?:] ', value):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(token[0], 0)
        if depth == 0 and token[0] in (" ? ", " : "):
            places.setdefault(token[0], token)
    if len(places) < 2:
        return [value]
    return [value[places[" ? "].end():places[" : "].start()], *alternatives(value[places[" : "].end():])]


def bare(kind):
    """Returns the name of a type without namespaces; for a container or an optional, the name of the element type."""
    while found := re.fullmatch(r"(?:const )?(?:std::(?:optional|vector|span|array)<(.*?)(?:, .*)?>|(.*?[&*]))", kind or ""):
        kind = found[1] or found[2][:-1]
    return re.sub(r"^(?:const )?(?:[\w:]*::)?", "", kind or "")


class Structs:
    """The members of all structs of some headers, and the return types of the headers' functions."""
    def __init__(self, paths):
        self.members, self.aliases, self.free = {}, {}, {}
        for path in paths:
            self.add(declarations(uniform(path.read_text())))

    def add(self, found):
        for each in found:
            if alias := re.match(r"using (\w+) = (\w+)$", each.text):
                self.aliases[alias[1]] = alias[2]
            elif named := re.match(r"(?:template <.*?> )?(?:struct|class) (\w+)(?: : (\w+))?", each.text):
                self.add(each.members)
                known = self.members.setdefault(named[1], {".base": named[2]})
                for member in each.members:
                    known |= {name: (self.aliases.get(kind, kind), " ".join(member.comment)) for kind, name in self.names(member.text)}
            else:
                self.free |= {name: kind for kind, name in self.names(each.text)}

    @staticmethod
    def names(text):
        """Returns the type and name of each declared member. The type of a function is its return type."""
        if function := re.match(r"(?:static |constexpr )*([\w:]+(?:<.*?>+)?)&? (\w+)\(", text):
            return [(function[1], function[2])]
        if plain := re.match(r"((?:const )?[\w:]+(?:<.*>)?[*&]?) (\w.*)", text):
            return [(plain[1], name) for name in re.findall(r"(\w+)(?:\{[^}]*\}| = [^,]*)?(?:, |$)", plain[2])]
        return []

    def find(self, struct, name):
        """Returns type and comment of a member, or None if there is no such member."""
        known = self.members.get(struct.split("<")[0], {})
        if name in known:
            kind, comment = known[name]
            kind = struct.split("<")[1].rstrip(">") if kind in ("T", "Value") and "<" in struct else kind
            return kind, re.sub("^Returns? (.)", lambda found: found[1].upper(), comment)
        return self.find(known[".base"], name) if known.get(".base") else None

    def chain(self, expression, types):
        """Returns type and comment of the last member of a chain such as task.memory.constant.count. Both are empty if
        the member is not known."""
        for found in re.finditer(r"\b(\w+)((?:(?:\.|->)\w+(?:\[[^\]]*\])?)+)", expression):
            kind, comment = types.get(found[1]), ""
            for name, index in re.findall(r"(\w+)(\[[^\]]*\])?", re.sub(r"\[.*?\]", "[]", found[2])):
                member = self.find(bare(kind), name)
                if not (member or kind and name in UNITS):
                    kind, comment = "", ""
                    break
                kind, own = member or ("int", "")
                kind, comment = (bare(kind), "") if index else (kind, comment if name in UNITS and not own else own)
            if kind:
                return kind, comment
        return "", ""


class Function:
    """A function that returns JSON. `subject` is the type of its first parameter, `title` the title of its section."""
    def __init__(self, name, parameters, body):
        self.name, self.body = name, body
        self.types = {found[2]: found[1] for found in re.finditer(r"((?:const )?[\w:]+(?:<[^()]*>)?)&? (\w+)(?:,|$| =)", parameters)}
        self.subject = bare(next(iter(self.types.values()), ""))
        self.title = self.subject if name == "to_json" else f"{self.subject} ({name})"

    def link(self):
        return f"[{self.title.replace('<', chr(92) + '<')}](#{re.sub(r'[^ a-z0-9_-]', '', self.title.lower()).replace(' ', '-')})"


def functions(text):
    """Yields the functions of a file that return JSON with fields."""
    for found in re.finditer(r"^(?:nlohmann::)?json (\w+)\(([^{;]*)\) \{", text, re.MULTILINE):
        body = text[found.end():closing(text, found.end() - 1)]
        if '{"' in body or '["' in body:
            yield Function(found[1], " ".join(found[2].split()), body)


class Fields:
    """The fields of the JSON that a function returns. `known` contains all functions with a section, by name and
    subject."""
    def __init__(self, function, structs, known):
        self.structs, self.known, self.types, self.locals, self.rows = structs, known, dict(function.types), {}, []
        self.body = self.without_lambdas(function.body)
        self.find_locals()
        self.content = self.returned()

    def without_lambdas(self, body):
        while found := re.search(r"const auto (\w+) = (\[[^\]]*\]\((.*?)\)) \{", body):
            end = closing(body, found.end() - 1)
            self.locals[found[1]] = found[2] + body[found.end() - 1:end + 1]
            body = body[:found.start()] + body[end + 2:]
        return body

    def find_locals(self):
        declared = re.compile(r"(?:for \(|^ +)(?:const )?((?:\w+::)*[A-Z]\w+)&? (\w+) (?::|=) ", re.MULTILINE)
        self.types |= {found[2]: found[1] for found in declared.finditer(self.body)}
        for found in re.finditer(r"json (\w+)\b(?: = )?((?!json::|nlohmann::json::|nullptr)[{\w(].*?);", self.body, re.DOTALL):
            self.locals.setdefault(found[1], found[2])
        for found in re.finditer(r"^  .*?\b(\w+) = (\{\{\".*?\}\});", self.body, re.DOTALL | re.MULTILINE):
            self.locals.setdefault(found[1], found[2] + " or null")
        for found in re.finditer(r"\b(\w+)\[\"(\w+)\"\] = (.*?);(?: //.*?)?\n", self.body, re.DOTALL):
            self.locals[found[1]] = self.locals.get(found[1], "") + f'{{"{found[2]}", {found[3]}}}'
        for found in re.finditer(r"\b(\w+)\[\"(\w+)\"\]\[\"(\w+)\"\] = (.*?);(?: //.*?)?\n", self.body, re.DOTALL):
            self.locals[found[1]] = self.locals.get(found[1], "") + f'{{"{found[2]}", {{{{"{found[3]}", {found[4]}}}}}}}'
        for found in re.finditer(r"(\w+)\.push_back\(", self.body):
            value = self.body[found.end():closing(self.body, found.end() - 1)]
            one = re.fullmatch(r"(?:std::move\()?(\w+)\)?", value)
            self.locals[found[1]] = self.locals.get(found[1], "[]") + (self.locals.get(one[1], value) if one else value)

    def returned(self):
        name = re.search(r"return (\w+);\s*$", self.body)
        if name:
            return self.locals.get(name[1], "")
        found = re.search(r"return \{", self.body)
        return self.body[found.end() - 1:closing(self.body, found.end() - 1) + 1] if found else ""

    def base(self):
        """Returns the function to whose result this function adds fields, or None if there is no such function."""
        found = re.match(r"(?:\w+::)?(\w+)\((\w[\w.]*)", self.content)
        return found and self.function_of(found[1], found[2])

    def function_of(self, name, argument):
        kind = self.structs.chain(argument, self.types)[0] or self.types.get(argument, "")
        base = self.structs.members.get(bare(kind), {}).get(".base")
        alone = [each for each in self.known.values() if each.name == name != "to_json"]
        return self.known.get((name, bare(kind))) or self.known.get((name, base)) or (alone[0] if len(alone) == 1 else None)

    def all(self):
        for key, value in pairs(self.content):
            self.add("", key, value)
        return self.rows

    def add(self, prefix, key, value):
        """Adds the row of a field, and the rows of the fields in it."""
        name = re.fullmatch(r"(?:std::move\()?(\w+)\)?", value) or re.fullmatch(r"list\(.*, (\w+)\)", value)
        content = self.locals.get(name[1], value) if name else value
        several = value.startswith("list(") or content.startswith("[]")
        parameter = re.search(r"\[[^\]]*\]\(const ([\w:]+)& (\w+)\)", content)
        comment = "" if value.startswith("!") else self.structs.chain(value, self.types)[1]
        outer = dict(self.types)
        if parameter:
            self.types[parameter[2]] = parameter[1]
        nested = list(pairs(content))
        kind = ("array of objects" if several else "object") + (" or null" if content.endswith(" or null") else "") if nested else ""
        if all(path != prefix + key for path, _, _ in self.rows):
            self.rows.append((prefix + key, kind or self.kind(content, several), comment if several or not nested else ""))
        for inner, inner_value in nested:
            self.add(f"{prefix}{key}[]." if several else f"{prefix}{key}.", inner, inner_value)
        self.types = outer

    def kind(self, content, several):
        """Returns the type of a field whose value is no literal object. Empty: the type is not known."""
        if several:
            call = re.search(r"\b(\w+)\((\w+)(?:, [\w.]+)?\)(?:; \}\))?$", content)
            function = call and self.function_of(call[1], call[2])
            return f"array of {function.link()}" if function else self.shown(self.structs.chain(content, self.types)[0])
        kinds = [self.single(each) for each in alternatives(content)]
        kinds = list(dict.fromkeys(" or ".join(kinds).split(" or "))) if all(kinds) else []
        return " or ".join(sorted(kinds, key="null".__eq__))

    def single(self, value):
        if value in ("nullptr", "json(nullptr)", "json()", "nlohmann::json()", "nlohmann::json(nullptr)"):
            return "null"
        if inner := re.fullmatch(r"(?:nlohmann::)?json\((.*)\)", value):
            return self.single(inner[1])
        if inner := re.fullmatch(r"nullable\((.*)\)", value):
            kind = self.single(inner[1])
            return kind and f"{kind} or null"
        if value.startswith("!") or value.endswith(".has_value()"):
            return "boolean"
        if value in ("json::object()", "json::array()"):
            return value[6:-2]
        if STRING.match(value):
            return "string"
        if call := re.match(r"(?:\w+::)?(\w+)\(\*?(\w[\w.]*)", value):
            if function := self.function_of(call[1], call[2]):
                null = " or null" if "return nullptr;" in function.body else ""
                return ("array of " if function.several else "") + function.link() + null
            if call[1] == "to_json":
                called = self.structs.free.get(call[2], "") if value[call.end():].startswith("(") else ""
                kind = self.structs.chain(call[2], self.types)[0] or called
                return self.shown(kind) or ("object" if bare(kind) in self.structs.members else "")
        if re.search(r"(\.count\(\)|\.size\(\)|\.number)$", value):
            return "integer"
        return self.shown(self.structs.chain(value, self.types)[0])

    def shown(self, kind):
        """Returns the JSON type of a C++ type, or an empty text if the C++ type is not known."""
        if optional := re.fullmatch(r"std::optional<(.*)>", kind):
            inner = self.shown(optional[1])
            return inner and f"{inner} or null"
        if several := re.fullmatch(r"std::(?:vector|span|array)<(?:const )?([\w:<>]+)(?:, .*)?>", kind):
            inner = self.shown(several[1])
            return inner and f"array of {inner}"
        function = self.known.get(("to_json", bare(kind)))
        return function.link() if function else next((name for pattern, name in PLAIN if re.fullmatch(pattern, kind)), "")
