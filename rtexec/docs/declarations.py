"""Reads the comments and declarations of headers. Relies on the layout that clang-format gives them."""
import re

def uniform(text):
    """Returns the header's lines, with C comments converted to C++ comments."""
    lines, inside = [], False
    for line in text.splitlines():
        before, opened, after = line.partition("/*") if not inside else (re.match(" *", line)[0], "", line)
        if not (inside or opened):
            lines.append(line)
            continue
        inside = "*/" not in after
        words = re.sub(r"^ *\*? ?|^ ", "", after.partition("*/")[0]).rstrip() if not opened else after.partition("*/")[0].strip()
        lines.append((before.rstrip() + " // " if before.strip() else before + "/// ") + words)
    return lines


# Declarations without information for users: forward declarations, defaulted comparisons, include guards, ends of blocks.
HIDDEN = r"(class|struct|enum class) [\w:]+;|friend class|friend .*= default|static_assert|extern|namespace|#(?!define \w+ \w)|\}"


class Declaration:
    """A declaration with its comment and its members. `text` is empty for a comment without a declaration. `follows`:
    True if no empty line precedes the declaration."""
    def __init__(self, comment, text="", members=(), follows=False):
        self.comment, self.text, self.members, self.follows = comment, text, list(members), follows


def ends(text, enumerator):
    """True if the declaration is complete."""
    balanced = text.count("{") == text.count("}") and text.count("(") == text.count(")")
    return enumerator or text.startswith("#") or (balanced and text[-1] in ";}")


def signature(text):
    """Returns the declaration; for a function, without its body and initialisers."""
    text = re.sub(r"(?<!define )RTEXEC_API |\[\[nodiscard\]\] ", "", " ".join(text.split()))
    if text.endswith("}"):
        text = re.split(r"(?<=[)\w&]) (?:: \w+[({]|\{)", text, maxsplit=1)[0]
    return text.rstrip(";,")


def declarations(lines, enumerators=False, public=True):
    """Returns the declarations of a namespace, a class or an enumeration."""
    found, comment, text, body, plain_comment, follows = [], [], "", None, False, False
    indents = [len(line) - len(line.lstrip()) for line in lines if line.strip() and not line.strip().startswith("//")]
    indent = max(set(indents), key=indents.count) if enumerators and indents else min((i for i in indents if i != 1), default=0)

    def keep(members=()):
        nonlocal comment, text, follows
        if public and not re.match(HIDDEN, text):
            found.append(Declaration(comment, signature(text), members, follows))
        comment, text, follows = [], "", True

    for line in lines:
        stripped = line.strip()
        words, trailing = (re.split(r"\s+// ", stripped, maxsplit=1) + [""])[:2] if not stripped.startswith("//") else ("", "")
        if body is not None:
            if stripped.startswith("}") and len(line) - len(line.lstrip()) <= indent:
                if (alias := re.match(r"\} (\w+);", stripped)) and "typedef" in text:
                    text = re.sub(r"typedef (\w+).*", rf"\1 {alias[1]}", text)
                keep(declarations(body, "enum" in text.split(), not re.match(r"(template <.*?> )?class\b", text)))
                body = None
            else:
                body.append(line)
        elif stripped.startswith("//") and found and not text and not comment and len(line) - len(line.lstrip()) > indent:
            found[-1].comment.append(stripped.lstrip("/ "))
        elif stripped.startswith("//") and not text:
            if comment and plain_comment != (not stripped.startswith("///")) and public:
                found.append(Declaration(comment))
                comment = []
            plain_comment = not stripped.startswith("///")
            comment.append(re.sub("^//+ ?", "", stripped))
        elif not stripped:
            if comment and not text and public:
                found.append(Declaration(comment))
            comment, follows = comment if text else [], False
        elif re.fullmatch(r"(public|private|protected):", stripped):
            public = stripped == "public:"
        elif not text and (words == "}" or re.match(r"(namespace|extern \"C\") .*\{$", words)):
            comment = []
        else:
            if comment and plain_comment and not text and public:  # the comment is for several declarations
                found.append(Declaration(comment))
                comment = []
            text = f"{text} {words}".strip()
            comment += [trailing] if trailing else []
            if re.match(r"(template .*|typedef )?(class|struct|enum)\b[^()]*\{$", text):
                text, body = text[:-1].strip(), []
            elif ends(text, enumerators):
                keep()
    return found
