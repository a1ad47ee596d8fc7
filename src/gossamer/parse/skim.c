/* Skims an ordinary HTML page: its plain links, its title, its text, and what else may matter.
 *
 * Theory of operation. Building the tree of a page takes most of the time that is spent on it, and
 * of nearly all pages nothing is needed that depends on the tree. This reads the tokens of a page by
 * the HTML standard (13.2.5) in one pass, and gives
 *
 *   - the distinct references of plain `a` elements, without fragments, in the order of the page;
 *   - the text of the first title, and the text of the page prepared for its fingerprint;
 *   - the rest, in pieces: copies of every other tag that may carry a URL or a directive. The parser
 *     reads them as it would have read the whole, so that the rules for these stay in one place
 *     (html.py, places.py).
 *
 * For those pages of which it is asked what they say (statements.py), another pass gives the text in
 * parts, each with the reference of the link that it is in, and the sources of what is shown.
 *
 * Wherever the tree could differ from the order of the tokens (text in a table outside its cells,
 * templates, frames, a second body, MathML and much of SVG), it gives up: the caller then builds
 * the tree. So it need not know much of the standard to agree with it always; the tests compare
 * both ways of reading.
 *
 * All bytes come from strangers. Every read is checked against the end, every write against the
 * room; nothing recurses; the work is proportional to the length of the page.
 */

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "scan.h"
#include "simhash.h"
#include "title.h"

enum { MAX_TABLES = 64, MAX_IN_LINK = 32, SEEN_SLOTS = 256 };
/* In bytes; of a character, its name and what that means. */
enum { LONGEST_NAME = 15, LONGEST_ENTITY = 32, LONGEST_MEANING = 8 };
/* Where the encoding of a page must be declared (HTML standard, 13.2.3.2). */
enum { PRESCANNED = 1024 };

/* ------------------------------------------------------------------ what is known of names */

enum kind {
    OTHER,      /* nothing special */
    ANCHOR,
    META,
    SCRIPT,
    STYLE,
    RAW,        /* its content is text without markup */
    TITLE,
    TEXTAREA,
    PREFORMATTED, /* a line end right after the tag does not count */
    PARENT,     /* what is inside asks for it by name, so its end is copied as well */
    TABLE,
    CELL,
    CAPTION,
    TABLE_PART,
    SELECT,
    OPTION,
    FORM,
    SVG,
    DRAWING,    /* only inside of SVG */
    HTML,
    HEAD,
    BODY,
    UNUSUAL,    /* needs the tree */
};

static const struct name {
    const char *name;
    byte kind;
} NAMES[] = {
    {"a", ANCHOR},         {"applet", PARENT},      {"audio", PARENT},
    {"body", BODY},        {"caption", CAPTION},    {"circle", DRAWING},
    {"clippath", DRAWING}, {"col", TABLE_PART},     {"colgroup", TABLE_PART},
    {"defs", DRAWING},     {"ellipse", DRAWING},    {"form", FORM},
    {"frame", UNUSUAL},    {"frameset", UNUSUAL},   {"g", DRAWING},
    {"head", HEAD},        {"html", HTML},          {"iframe", RAW},
    {"image", UNUSUAL},    {"isindex", UNUSUAL},
    {"line", DRAWING},     {"lineargradient", DRAWING}, {"listing", PREFORMATTED},
    {"marker", DRAWING},   {"mask", DRAWING},       {"math", UNUSUAL},
    {"meta", META},        {"noembed", RAW},        {"noframes", RAW},
    {"object", PARENT},    {"optgroup", OPTION},    {"option", OPTION},
    {"path", DRAWING},     {"pattern", DRAWING},    {"picture", PARENT},
    {"plaintext", UNUSUAL}, {"polygon", DRAWING},   {"polyline", DRAWING},
    {"pre", PREFORMATTED}, {"radialgradient", DRAWING}, {"rect", DRAWING},
    {"script", SCRIPT},    {"select", SELECT},      {"stop", DRAWING},
    {"style", STYLE},      {"svg", SVG},            {"symbol", DRAWING},
    {"table", TABLE},      {"tbody", TABLE_PART},   {"td", CELL},
    {"template", UNUSUAL}, {"text", DRAWING},       {"textarea", TEXTAREA},
    {"tfoot", TABLE_PART}, {"th", CELL},            {"thead", TABLE_PART},
    {"title", TITLE},      {"tr", TABLE_PART},      {"tspan", DRAWING},
    {"use", DRAWING},      {"video", PARENT},       {"xmp", RAW},
};

/* Attributes that html.py and places.py look at (a test compares); `style` is one if it has a url. */
static const char *const CARRIERS[] = {
    "action", "archive", "background",  "cite",     "codebase", "data", "formaction",
    "href",   "icon",    "imagesrcset", "longdesc", "manifest", "ping", "poster",
    "profile", "src",    "srcset",      "usemap",   "xlink:href",
};

/* The parser opens these again wherever they were left open, so that a page may have more of them
 * than it has tags. */
static const char *const FORMATTING[] = {
    "a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u",
};

/* Besides those of a kind of their own, these leave the head open. */
static const char *const IN_HEAD[] = {"base", "basefont", "bgsound", "link", "noscript"};

/* They cannot become the parent of what comes after them. */
static const char *const CHILDLESS[] = {"embed", "img", "source", "track"};

/* They have no end. */
static const char *const VOID[] = {
    "area",  "base",   "basefont", "bgsound", "br",    "embed",  "hr",    "img",
    "input", "keygen", "link",     "meta",    "param", "source", "track", "wbr",
};

/* Formatting does not go on in the first three, and the last one ends others of its kind. */
static const char *const APART[] = {"applet", "marquee", "object", "nobr"};

/* Elements whose source people see (statements.py). */
static const char *const SHOWN[] = {"embed", "iframe", "img", "source", "video"};

/* Others that are looked at here. */
static const char *const OTHERS[] = {
    "charset", "content", "data-src", "http-equiv", "name", "rel", "style",
};

static byte name_slots[512];    /* number of the name + 1 */
static byte carrier_slots[64];
/* For each letter with which a name begins: the lengths of those that are known, and their second
 * letters, as bits. Most names that are not known are told by that. */
static uint16_t name_lengths[256], attribute_lengths[256];
static uint32_t second_letters[256];
static byte letter_kinds[256];  /* of names of one letter */
static byte is_space[256], ends_name[256], ends_key[256];
static byte lowered[256];

/* Of a name that is not empty. */
static inline uint32_t hash_of(const byte *name, Py_ssize_t length)
{
    uint32_t sum = (uint32_t)length + 13 * (uint32_t)name[0] + 31 * (uint32_t)name[length / 2] +
                   5 * (uint32_t)name[length - 1];
    return sum ^ sum >> 7;
}

/* One of 32 bits for a letter in either case, or for the end of a name of one letter. */
static uint32_t bit_of(byte letter)
{
    return (uint32_t)1 << (letter & 31);
}

static void fill_tables(void)
{
    for (int value = 0; value < 256; value++)
        lowered[value] = (byte)(value >= 'A' && value <= 'Z' ? value + 32 : value);
    fill_prepared();
    fill_begun();
    for (const char *each = "\t\n\f\r "; *each; each++)
        is_space[(byte)*each] = ends_name[(byte)*each] = 1;
    ends_name['/'] = ends_name['>'] = 1;
    memcpy(ends_key, ends_name, sizeof ends_key);
    ends_key['='] = 1;
    for (size_t number = 0; number < sizeof NAMES / sizeof *NAMES; number++) {
        const char *name = NAMES[number].name;
        uint32_t slot = hash_of((const byte *)name, (Py_ssize_t)strlen(name)) % sizeof name_slots;
        while (name_slots[slot])
            slot = (slot + 1) % sizeof name_slots;
        name_slots[slot] = (byte)(number + 1);
        name_lengths[(byte)*name] |= (uint16_t)(1 << strlen(name));
        second_letters[(byte)*name] |= bit_of((byte)name[1]);
        if (!name[1])
            letter_kinds[(byte)*name] = NAMES[number].kind;
    }
    for (size_t number = 0; number < sizeof CARRIERS / sizeof *CARRIERS; number++) {
        const char *name = CARRIERS[number];
        uint32_t slot =
            hash_of((const byte *)name, (Py_ssize_t)strlen(name)) % sizeof carrier_slots;
        while (carrier_slots[slot])
            slot = (slot + 1) % sizeof carrier_slots;
        carrier_slots[slot] = (byte)(number + 1);
        attribute_lengths[(byte)*name] |= (uint16_t)(1 << strlen(name));
    }
    for (size_t number = 0; number < sizeof OTHERS / sizeof *OTHERS; number++)
        attribute_lengths[(byte)*OTHERS[number]] |= (uint16_t)(1 << strlen(OTHERS[number]));
}

/* In a name there is no zero. */
static inline int is_same(const char *known, const byte *name, Py_ssize_t length)
{
    Py_ssize_t same = 0;
    while (same < length && (byte)known[same] == name[same])
        same++;
    return same == length && !known[same];
}

static enum kind kind_of(const byte *name, Py_ssize_t length)
{
    uint32_t slot = hash_of(name, length) % sizeof name_slots;
    for (; name_slots[slot]; slot = (slot + 1) % sizeof name_slots) {
        const struct name *known = &NAMES[name_slots[slot] - 1];
        if (is_same(known->name, name, length))
            return known->kind;
    }
    return OTHER;
}

static int is_carrier(const byte *name, Py_ssize_t length)
{
    uint32_t slot = hash_of(name, length) % sizeof carrier_slots;
    for (; carrier_slots[slot]; slot = (slot + 1) % sizeof carrier_slots) {
        if (is_same(CARRIERS[carrier_slots[slot] - 1], name, length))
            return 1;
    }
    return 0;
}

/* ------------------------------------------------------------------ slices and buffers */

struct slice {
    const byte *at, *end;
};

static Py_ssize_t length_of(struct slice text)
{
    return text.end - text.at;
}

static int is_word(struct slice text, const char *word)
{
    Py_ssize_t length = (Py_ssize_t)strlen(word);
    if (length_of(text) != length)
        return 0;
    for (Py_ssize_t at = 0; at < length; at++)
        if (lowered[text.at[at]] != (byte)word[at])
            return 0;
    return 1;
}

/* Where a word in lower case begins, whatever the case of the text; NULL if it is not there. */
static const byte *find_word(struct slice text, const char *word)
{
    Py_ssize_t length = (Py_ssize_t)strlen(word);
    for (const byte *at = text.at;; at++) {
        if (length > 1)
            at = find_pair(at, text.end, (byte)word[0], (byte)word[1]);
        if (text.end - at < length)
            return NULL;
        Py_ssize_t same = 0;
        while (same < length && lowered[at[same]] == (byte)word[same])
            same++;
        if (same == length)
            return at;
    }
}

struct buffer {
    byte *bytes;
    size_t length, room;
};

/* Makes room for so many more bytes; 0 if there is no memory. */
static int reserve(struct buffer *buffer, size_t more)
{
    if (buffer->room - buffer->length >= more)
        return 1;
    size_t room = buffer->room * 2 + more + 256;
    byte *bytes = realloc(buffer->bytes, room);
    if (!bytes)
        return 0;
    buffer->bytes = bytes;
    buffer->room = room;
    return 1;
}

static int append(struct buffer *buffer, const byte *bytes, size_t length)
{
    if (!reserve(buffer, length))
        return 0;
    memcpy(buffer->bytes + buffer->length, bytes, length);
    buffer->length += length;
    return 1;
}

#define IS_ONE_OF(text, words) is_one_of(text, words, sizeof(words) / sizeof *(words))

static int is_one_of(struct slice text, const char *const *words, size_t count)
{
    for (size_t number = 0; number < count; number++)
        if (is_word(text, words[number]))
            return 1;
    return 0;
}

/* ------------------------------------------------------------------ one page */

/* Why reading ends early. */
enum verdict { FINE, GIVEN_UP, FAILED, NOT_USUAL };

struct tag {
    struct slice whole;             /* from `<` to `>` */
    enum kind kind;
    int is_end, closes_itself;
    byte name[LONGEST_NAME + 1];    /* in lower case; only of those that are known */
    Py_ssize_t name_length;         /* 0: longer than any that is known */
    int carries;                    /* an attribute that may hold a URL; not the href of an `a` */
    Py_ssize_t places;              /* how many URLs these may hold, at most */
    struct slice href, rel;         /* of an `a` */
    struct slice label, pragma, subject, content; /* of a `meta` */
    struct slice source, late_source; /* src and data-src; NULL if there is none */
    int has_href, has_rel, has_label;
};

struct page {
    const byte *start, *at, *end;
    byte *marks;                    /* where tags may begin and end, if that was found out */
    PyObject *entities;             /* borrowed: name, mostly with semicolon -> text */
    PyObject *names;                /* borrowed: by these, in lower case, robots are spoken to */
    PyObject *references;           /* new: reference -> False */
    PyObject *refused;              /* new, or NULL: met only in links that ask not to be followed */
    PyObject *title, *description;  /* new, or NULL */
    struct slice label;             /* the encoding as it is declared */
    PyObject *pieces;               /* new: copies of tags as bytes */
    struct buffer piece;            /* the piece that is being made */
    int parents;                    /* how many elements are open that belong together in a piece */
    struct buffer text, scratch;
    Py_ssize_t most_text;           /* so many characters of it are wanted */
    byte tables[MAX_TABLES];        /* for each open table: TABLE, or in which part of it we are */
    byte sections[MAX_TABLES];      /* second letter of the thead, tbody or tfoot that is open, or 0 */
    int table_count;
    int wants_label, in_select, in_body, began, has_html, has_head;
    Py_ssize_t places_left;         /* so many more are read of the page */
    int after_head;                 /* its end tag was met */
    int beyond_head, maybe_beyond_head; /* the body began, even if its tag did not come yet */
    enum { NO_PARENT, LAST_IS_PARENT, UNSURE } parent; /* of a source, if one came now */
    struct slice seen[SEEN_SLOTS];  /* references met lately as they are written: links repeat */
    /* Only where it is asked what the page says (`said`): */
    PyObject *texts, *links;        /* new: text, and the reference of the link that it is in */
    PyObject *shown;                /* new: sources of what is shown */
    PyObject *link;                 /* new: of the link that is open, or NULL */
    struct slice in_link[MAX_IN_LINK]; /* names of the elements that are open in it */
    int in_link_count;
};

#define TRY(call)                                                                                  \
    do {                                                                                           \
        enum verdict verdict_ = (call);                                                            \
        if (verdict_ != FINE)                                                                      \
            return verdict_;                                                                       \
    } while (0)

/* ------------------------------------------------------------------ character references */

static size_t put_code_point(byte *out, uint32_t code)
{
    if (code < 0x80) {
        out[0] = (byte)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (byte)(0xC0 | code >> 6);
        out[1] = (byte)(0x80 | (code & 0x3F));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (byte)(0xE0 | code >> 12);
        out[1] = (byte)(0x80 | (code >> 6 & 0x3F));
        out[2] = (byte)(0x80 | (code & 0x3F));
        return 3;
    }
    out[0] = (byte)(0xF0 | code >> 18);
    out[1] = (byte)(0x80 | (code >> 12 & 0x3F));
    out[2] = (byte)(0x80 | (code >> 6 & 0x3F));
    out[3] = (byte)(0x80 | (code & 0x3F));
    return 4;
}

/* What numbers of the control range mean: those of windows-1252. */
static const uint16_t CONTROLS[32] = {
    0x20AC, 0x81,   0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
    0x2039, 0x0152, 0x8D,   0x017D, 0x8F,   0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
    0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D,   0x017E, 0x0178,
};

/* Reads `#123;` or `#x1f;`; returns its length in the page, 0 if it is none. */
static Py_ssize_t numbered(struct slice text, byte *out, size_t *length)
{
    const byte *at = text.at + 1;
    int is_hex = at < text.end && (*at == 'x' || *at == 'X');
    at += is_hex;
    const byte *first = at;
    uint32_t code = 0;
    for (; at < text.end; at++) {
        byte digit = lowered[*at];
        uint32_t value;
        if (digit >= '0' && digit <= '9')
            value = (uint32_t)(digit - '0');
        else if (is_hex && digit >= 'a' && digit <= 'f')
            value = (uint32_t)(digit - 'a' + 10);
        else
            break;
        if (code < 0x110000)
            code = code * (is_hex ? 16 : 10) + value;
    }
    if (at == first)
        return 0;
    if (at < text.end && *at == ';')
        at++;
    if (code == 0 || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
        code = 0xFFFD;
    else if (code >= 0x80 && code < 0xA0)
        code = CONTROLS[code - 0x80];
    *length = put_code_point(out, code);
    return at - text.at;
}

static inline int is_letter(byte value)
{
    return (byte)((value | 32) - 'a') < 26;
}

static int is_alphanumeric(byte value)
{
    return (value >= '0' && value <= '9') || is_letter(value);
}

static const struct {
    const char *name;
    byte length;
    const char *text;
} FREQUENT[] = {
    {"amp;", 4, "&"}, {"lt;", 3, "<"}, {"gt;", 3, ">"}, {"quot;", 5, "\""}, {"nbsp;", 5, "\xC2\xA0"},
};

/* Reads a named reference: the longest name that is known (HTML standard, 13.2.5.73). */
static enum verdict named(
    struct page *page, struct slice text, int in_attribute, byte *out, size_t *length,
    Py_ssize_t *taken)
{
    for (size_t number = 0; number < sizeof FREQUENT / sizeof *FREQUENT; number++) {
        if (*text.at == (byte)*FREQUENT[number].name &&
            length_of(text) >= FREQUENT[number].length &&
            !memcmp(text.at, FREQUENT[number].name, FREQUENT[number].length)) {
            *length = strlen(FREQUENT[number].text);
            memcpy(out, FREQUENT[number].text, *length);
            *taken = FREQUENT[number].length;
            return FINE;
        }
    }
    Py_ssize_t longest = 0;
    while (longest < length_of(text) && longest < LONGEST_ENTITY &&
           is_alphanumeric(text.at[longest]))
        longest++;
    Py_ssize_t run = longest;
    if (longest < length_of(text) && text.at[longest] == ';')
        longest++;
    for (Py_ssize_t tried = longest; tried > 1; tried--) {
        PyObject *name = PyUnicode_DecodeUTF8((const char *)text.at, tried, NULL);
        if (!name)
            return FAILED;
        PyObject *meaning = PyDict_GetItemWithError(page->entities, name);
        Py_DECREF(name);
        if (!meaning) {
            if (PyErr_Occurred())
                return FAILED;
            continue;
        }
        if (in_attribute && tried <= run && tried < length_of(text) &&
            (text.at[tried] == '=' || is_alphanumeric(text.at[tried])))
            break;  /* `?a=1&copy=2` is a query */
        Py_ssize_t size;
        const char *bytes = PyUnicode_AsUTF8AndSize(meaning, &size);
        if (!bytes)
            return FAILED;
        if (size > LONGEST_MEANING)
            return GIVEN_UP;
        memcpy(out, bytes, (size_t)size);
        *length = (size_t)size;
        *taken = tried;
        return FINE;
    }
    *taken = 0;
    return FINE;
}

/* Reads the reference after an ampersand; `taken` is 0 where the ampersand stands for itself. */
static enum verdict referenced(
    struct page *page, struct slice text, int in_attribute, byte *out, size_t *length,
    Py_ssize_t *taken)
{
    *taken = 0;
    if (text.at < text.end && *text.at == '#') {
        *taken = numbered(text, out, length);
        return FINE;
    }
    if (text.at < text.end && is_alphanumeric(*text.at))
        return named(page, text, in_attribute, out, length, taken);
    return FINE;
}

/* Puts a text with its references resolved into the scratch buffer. */
static enum verdict resolve(struct page *page, struct slice text, int in_attribute)
{
    struct buffer *out = &page->scratch;
    out->length = 0;
    if (!reserve(out, (size_t)length_of(text) * 2 + 16))
        return FAILED;
    while (text.at < text.end) {
        byte value = *text.at++;
        if (value == '\r') {
            value = '\n';
            text.at += text.at < text.end && *text.at == '\n';
        } else if (value == '&') {
            Py_ssize_t taken;
            size_t length = 0;
            TRY(referenced(page, text, in_attribute, out->bytes + out->length, &length, &taken));
            if (taken) {
                text.at += taken;
                out->length += length;
                continue;
            }
        }
        out->bytes[out->length++] = value;
    }
    return FINE;
}

static PyObject *text_in_scratch(struct page *page)
{
    return PyUnicode_DecodeUTF8(
        (const char *)page->scratch.bytes, (Py_ssize_t)page->scratch.length, NULL);
}

/* ------------------------------------------------------------------ text */

/* Whether more text is wanted, if so much is there: a character has four bytes at most. */
static inline int wants_text(const struct page *page, size_t length)
{
    return (Py_ssize_t)(length / 4) < page->most_text;
}

/* Puts text as it is, each line end as one character. Ends early before what may be markup or a
 * reference, unless the text is `raw`, and where no more is wanted; returns where. */
static const byte *put_text(struct page *page, const byte *at, const byte *end, int raw)
{
    const byte markup = raw ? '\r' : '<', reference = raw ? '\r' : '&';
    size_t length = page->text.length;
    while (at < end && wants_text(page, length)) {
        size_t more = copy_until(page->text.bytes + length, at, end, markup, reference, '\r');
        length += more;
        at += more;
        if (at == end)
            break;
        if (*at == '\r') {
            page->text.bytes[length++] = '\n';
            at++;
            at += at < end && *at == '\n';
        } else if (*at == markup || *at == reference) {
            break;
        }
    }
    page->text.length = length;
    return at;
}

/* Makes room for all text from here to the end of the page that is wanted, and for what one reference
 * means, which may be longer than that. So there always is enough. */
static int reserve_text(struct page *page, const byte *at)
{
    size_t length = (size_t)(page->end - at);
    if (length / 4 > (size_t)page->most_text)
        length = (size_t)page->most_text * 4;
    return reserve(&page->text, length + LONGEST_MEANING + COPIED_AT_ONCE);
}

/* Adds what the reference at an ampersand means; `at` moves behind it. */
static enum verdict add_referenced(struct page *page, const byte **at, const byte *end)
{
    byte meaning[LONGEST_MEANING] = {'&'};
    size_t length = 1;
    Py_ssize_t taken;
    ++*at;
    TRY(referenced(page, (struct slice){*at, end}, 0, meaning, &length, &taken));
    *at += taken;
    put_text(page, meaning, meaning + length, 1);
    return reserve_text(page, *at) ? FINE : FAILED;
}

/* Adds text in which markup does not count. */
static enum verdict add_text(struct page *page, struct slice text, int has_references)
{
    while (text.at < text.end && wants_text(page, page->text.length)) {
        const byte *mark = has_references ? find(text.at, text.end, '&') : NULL;
        put_text(page, text.at, mark ? mark : text.end, 1);
        text.at = mark ? mark : text.end;
        if (mark)
            TRY(add_referenced(page, &text.at, text.end));
    }
    return FINE;
}

/* Whether there is something in a text besides white space. */
static int says_anything(struct slice text)
{
    while (text.at < text.end && is_space[*text.at])
        text.at++;
    return text.at < text.end;
}

/* Whether a `<` begins something; otherwise it belongs to the text. */
static inline int is_markup(const byte *at, const byte *end)
{
    return end - at >= 2 && (is_letter(at[1]) || at[1] == '/' || at[1] == '!' || at[1] == '?');
}

/* Where markup begins next, or the end of the page. */
static inline const byte *next_markup(const byte *at, const byte *end)
{
    while ((at = find(at, end, '<')) != NULL && !is_markup(at, end))
        at++;
    return at ? at : end;
}

/* Reads text of the body in one go, up to the next markup. */
static enum verdict read_body_text(struct page *page)
{
    const byte *at = page->at, *end = page->end;
    for (;;) {
        at = put_text(page, at, end, 0);
        if (at == end || !wants_text(page, page->text.length)) {
            page->at = next_markup(at, end);
            return FINE;
        }
        if (*at == '&') {
            TRY(add_referenced(page, &at, end));
        } else if (is_markup(at, end)) {
            page->at = at;
            return FINE;
        } else {
            at = put_text(page, at, at + 1, 1);
        }
    }
}

/* Reads up to the next markup, or to the end of the page. */
static enum verdict read_text(struct page *page)
{
    int in_table = page->table_count && page->tables[page->table_count - 1] == TABLE;
    if (page->beyond_head && !in_table && !page->texts && wants_text(page, page->text.length))
        return read_body_text(page);
    struct slice text = {page->at, next_markup(page->at, page->end)};
    page->at = text.end;
    if (text.at == text.end)
        return FINE;
    if (!page->beyond_head || in_table) {
        if (says_anything(text)) {
            const byte *first = text.at;
            while (is_space[*first])
                first++;
            /* A reference might be white space. */
            if (in_table || *first == '&')
                return GIVEN_UP;
            if (!page->began)
                text.at = first;
            page->began = page->beyond_head = 1;
        } else if (!page->began) {
            return FINE;
        }
    }
    return wants_text(page, page->text.length) ? add_text(page, text, 1) : FINE;
}

/* ------------------------------------------------------------------ tags */

/* How many URLs a value may hold, at most: a srcset has commas, a style has url() and @import. */
static Py_ssize_t places_in(struct slice value)
{
    Py_ssize_t count = 1;
    for (const byte *at = value.at; at < value.end; at++)
        count += *at == ',' || *at == '(' || *at == '@';
    return count;
}

/* Notes an attribute as far as it matters; of two with the same name the first counts. */
static enum verdict note_attribute(struct tag *tag, struct slice name, struct slice value)
{
    byte small[LONGEST_NAME + 1];
    Py_ssize_t length = length_of(name);
    if (tag->kind == ANCHOR && is_word(name, "href")) {
        if (!tag->has_href)
            tag->href = value;
        tag->has_href = 1;
        return FINE;
    }
    for (Py_ssize_t at = 0; at < length; at++)
        small[at] = lowered[name.at[at]];
    small[length] = 0;
    const char *text = (const char *)small;
    if (!strcmp(text, "style")) {
        /* An escape might hide a url(). */
        if (find_word(value, "url") || find_word(value, "import") || find_word(value, "image-set") ||
            find_word(value, "\\") || find_word(value, "&#") || find_word(value, "&bsol")) {
            tag->carries = 1;
            tag->places += places_in(value);
        }
    } else if (!strcmp(text, "data-src")) {
        if (!tag->late_source.at)
            tag->late_source = value;
    } else if (tag->kind == ANCHOR && !strcmp(text, "rel")) {
        if (!tag->has_rel)
            tag->rel = value;
        tag->has_rel = 1;
    } else if (tag->kind == META) {
        if (!strcmp(text, "charset")) {
            if (tag->has_label)
                return GIVEN_UP;
            tag->label = value;
            tag->has_label = 1;
        } else if (!strcmp(text, "http-equiv")) {
            if (tag->pragma.at)
                return GIVEN_UP;
            tag->pragma = value;
        } else if (!strcmp(text, "name")) {
            if (tag->subject.at)
                return GIVEN_UP;
            tag->subject = value;
        } else if (!strcmp(text, "content")) {
            if (tag->content.at)
                return GIVEN_UP;
            tag->content = value;
        }
    } else if (is_carrier(small, length)) {
        /* The form of a button decides; the others are lists, of any length. */
        if (!strcmp(text, "formaction") || !strcmp(text, "ping") || !strcmp(text, "archive"))
            return GIVEN_UP;
        tag->places += places_in(value);
        if (!tag->source.at && !strcmp(text, "src"))
            tag->source = value;
        /* Where a form is sent is no page. */
        if (tag->kind != FORM || strcmp(text, "action"))
            tag->carries = 1;
    }
    return FINE;
}

/* Most attributes do not matter, and are told by the length of their names. */
static inline int may_matter(struct slice name)
{
    return length_of(name) <= LONGEST_NAME &&
           attribute_lengths[lowered[*name.at]] >> length_of(name) & 1;
}

/* Whether a name may be one that is known; most others are told by that. */
static inline int may_be_known(const byte *name, Py_ssize_t length)
{
    byte first = lowered[*name];
    return length <= LONGEST_NAME && name_lengths[first] >> length & 1 &&
           (length == 1 || second_letters[first] & bit_of(name[1]));
}

/* Reads the name of a tag; returns its end. */
static inline const byte *read_name(struct tag *tag, const byte *name, const byte *end)
{
    const byte *at = end_of_name(name, end, ends_name, 0);
    Py_ssize_t length = at - name;
    tag->kind = OTHER;
    tag->name_length = length <= LONGEST_NAME ? length : 0;
    if (!may_be_known(name, length))
        return at;
    for (Py_ssize_t each = 0; each < length; each++)
        tag->name[each] = lowered[name[each]];
    tag->kind = length == 1 ? letter_kinds[*tag->name] : kind_of(tag->name, length);
    return at;
}

/* What else there is, is valid if these say so. */
static inline void begin_attributes(struct tag *tag)
{
    tag->source.at = tag->late_source.at = NULL;
    tag->places = 0;
    tag->carries = tag->has_href = tag->has_rel = tag->has_label = 0;
    if (tag->kind == META)
        tag->pragma = tag->subject = tag->content = (struct slice){NULL, NULL};
}

#ifdef HAS_SIXTEENS
struct ahead {
    const byte *from;
    uint64_t marks;
};

/* The next mark; the end of the page if none is left. */
static inline const byte *next_mark(const struct page *page, struct ahead *ahead)
{
    while (!ahead->marks) {
        ahead->from += AHEAD;
        if (ahead->from >= page->end)
            return page->end;
        ahead->marks = marks_ahead(page->marks, (size_t)(ahead->from - page->start));
    }
    const byte *mark = ahead->from + first_bit(ahead->marks);
    ahead->marks &= ahead->marks - 1;
    return mark;
}

/* The next mark that is a certain one; `last` or more if there is none before that. */
static inline const byte *next_such(
    const struct page *page, struct ahead *ahead, byte value, const byte *last)
{
    const byte *mark = next_mark(page, ahead);
    while (mark < last && *mark != value)
        mark = next_mark(page, ahead);
    return mark;
}

/* Whether from a place to a mark there is white space, the name of an attribute, `=` and a quote. */
static inline int is_attribute(const byte *at, const byte *mark)
{
    return (*mark == '"' || *mark == '\'') && mark - at > 2 && is_space[*at] && mark[-1] == '=' &&
           length_of_name(at + 1, 1) == mark - at - 2;
}

/* Reads a tag as `read_tag` does, if it is of the usual form: after the name only attributes with a
 * space before each and a value in quotes. Where these are is known before they are read, so
 * that the processor need not wait for one to begin with the next. */
static enum verdict read_usual_tag(struct page *page, struct tag *tag)
{
    const byte *at = page->at + 1, *last = page->end - 16;
    struct ahead ahead = {at, marks_ahead(page->marks, (size_t)(at - page->start))};
    const byte *mark = next_mark(page, &ahead);
    if (mark >= last)
        return NOT_USUAL;
    tag->is_end = *at == '/';
    at = read_name(tag, at + tag->is_end, page->end);
    tag->closes_itself = 0;
    begin_attributes(tag);
    while (*mark != '>') {
        if (tag->is_end || !is_attribute(at, mark))
            return NOT_USUAL;
        const byte *close = next_such(page, &ahead, *mark, last);
        if (close >= last)
            return NOT_USUAL;
        struct slice key = {at + 1, mark - 1};
        if (may_matter(key))
            TRY(note_attribute(tag, key, (struct slice){mark + 1, close}));
        at = close + 1;
        mark = next_mark(page, &ahead);
        if (mark >= last)
            return NOT_USUAL;
    }
    if (mark != at)
        return NOT_USUAL;
    tag->whole = (struct slice){page->at, mark + 1};
    page->at = mark + 1;
    return FINE;
}
#endif

/* Reads the tag at `<` or `</` whose name begins with a letter. At the end of the page nothing is
 * left of it: `tag->whole.at` is NULL. */
static enum verdict read_tag(struct page *page, struct tag *tag)
{
#ifdef HAS_SIXTEENS
    enum verdict verdict = page->end - page->at > 64 ? read_usual_tag(page, tag) : NOT_USUAL;
    if (verdict != NOT_USUAL)
        return verdict;
#endif
    const byte *at = page->at + 1, *end = page->end;
    tag->whole.at = NULL;
    tag->is_end = *at == '/';
    at = read_name(tag, at + tag->is_end, end);
    tag->closes_itself = 0;
    if (at < end && *at == '>' && tag->is_end) {
        tag->whole = (struct slice){page->at, at + 1};
        page->at = at + 1;
        return FINE;
    }
    begin_attributes(tag);
    for (;;) {
        while (at < end && (is_space[*at] || *at == '/'))
            at++;
        if (at >= end)
            break;
        if (*at == '>') {
            tag->closes_itself = at[-1] == '/';
            break;
        }
        /* A name may begin with `=`. */
        struct slice key = {at, end_of_name(at + 1, end, ends_key, 1)};
        at = key.end;
        while (at < end && is_space[*at])
            at++;
        struct slice value = {at, at};
        if (at < end && *at == '=') {
            at++;
            while (at < end && is_space[*at])
                at++;
            if (at >= end)
                break;
            if (*at == '"' || *at == '\'') {
                const byte *close = find(at + 1, end, *at);
                if (!close) {
                    at = end;
                    break;
                }
                value = (struct slice){at + 1, close};
                at = close + 1;
            } else {
                value.at = at;
                while (at < end && !is_space[*at] && *at != '>')
                    at++;
                value.end = at;
            }
        }
        if (!tag->is_end && may_matter(key))
            TRY(note_attribute(tag, key, value));
        /* So that a slash before it, in the value, is not taken for the end. */
        if (at < end && *at == '>')
            break;
    }
    if (at >= end) {
        page->at = end;
        return FINE;
    }
    tag->whole.at = page->at;
    tag->whole.end = page->at = at + 1;
    return FINE;
}

static enum verdict end_piece(struct page *page)
{
    if (!page->piece.length)
        return FINE;
    PyObject *piece = PyBytes_FromStringAndSize(
        (const char *)page->piece.bytes, (Py_ssize_t)page->piece.length);
    if (!piece)
        return FAILED;
    page->piece.length = 0;
    int failed = PyList_Append(page->pieces, piece);
    Py_DECREF(piece);
    return failed ? FAILED : FINE;
}

/* Puts bytes into a piece of their own, or into the one that is open. */
static enum verdict copy(struct page *page, struct slice bytes)
{
    if (page->texts)
        return FINE;
    if (!append(&page->piece, bytes.at, (size_t)length_of(bytes)))
        return FAILED;
    return page->parents ? FINE : end_piece(page);
}

static struct slice name_of(const struct tag *tag)
{
    const byte *name = tag->whole.at + 1 + tag->is_end;
    return (struct slice){name, name + tag->name_length};
}

/* Copies a tag and ends its element, so that it has nothing to do with what comes after it. */
static enum verdict copy_element(struct page *page, const struct tag *tag)
{
    if (page->texts)
        return FINE;
    if (!tag->name_length)
        return GIVEN_UP;
    int done = append(&page->piece, tag->whole.at, (size_t)length_of(tag->whole)) &&
               append(&page->piece, (const byte *)"</", 2) &&
               append(&page->piece, tag->whole.at + 1, (size_t)tag->name_length);
    static const byte END[] = {'>'};
    return done ? copy(page, (struct slice){END, END + 1}) : FAILED;
}

/* ------------------------------------------------------------------ elements */

/* The place of a link is that of the first of its kind, followed or not, if any is followed: then
 * the tree tells it. */
static enum verdict note_refused(struct page *page, PyObject *reference)
{
    if (!page->refused && !(page->refused = PySet_New(NULL)))
        return FAILED;
    int is_known = PyDict_Contains(page->references, reference);
    if (is_known)
        return is_known < 0 ? FAILED : FINE;
    return PySet_Add(page->refused, reference) ? FAILED : FINE;
}

static enum verdict note_followed(struct page *page, PyObject *reference)
{
    int was_refused = page->refused ? PySet_Contains(page->refused, reference) : 0;
    if (was_refused)
        return was_refused < 0 ? FAILED : GIVEN_UP;
    return PyDict_SetItem(page->references, reference, Py_False) ? FAILED : FINE;
}

/* References differ at their ends, mostly before `.html`. */
static size_t slot_of(struct slice reference)
{
    size_t length = (size_t)length_of(reference);
    uint64_t last = length, before = 0;
    if (length >= sizeof last) {
        memcpy(&last, reference.end - sizeof last, sizeof last);
        memcpy(&before, reference.end - (length < 16 ? length : 16), sizeof before);
    } else {
        while (reference.at < reference.end)
            last = last << 8 | *reference.at++;
    }
    return (size_t)((last ^ (before << 21 | before >> 43)) * 0x9E3779B97F4A7C15ULL >> 40) % SEEN_SLOTS;
}

static enum verdict add_reference(struct page *page, struct slice href, int is_refused)
{
    const byte *mark = first_of(href.at, href.end, page->end, '&', '\r', '#'), *met = mark;
    if (met < href.end && *met == '#')
        met = first_of(met + 1, href.end, page->end, '&', '\r', '\r');
    if (met < href.end) {
        TRY(resolve(page, href, 1));
        href.at = page->scratch.bytes;
        href.end = href.at + page->scratch.length;
        mark = find(href.at, href.end, '#');
        if (mark)
            href.end = mark;
    } else {
        /* As written it stays where it is, so it can be recognised. */
        href.end = mark;
        struct slice *slot = &page->seen[slot_of(href)];
        if (!is_refused && slot->at && length_of(*slot) == length_of(href) &&
            !memcmp(slot->at, href.at, (size_t)length_of(href)))
            return FINE;
        if (!is_refused)
            *slot = href;
    }
    if (href.at == href.end)
        return FINE;
    PyObject *reference = PyUnicode_DecodeUTF8((const char *)href.at, length_of(href), NULL);
    if (!reference)
        return FAILED;
    enum verdict verdict =
        is_refused ? note_refused(page, reference) : note_followed(page, reference);
    Py_DECREF(reference);
    return verdict;
}

/* Whether a value is white space, or begins with a reference, which might be that. */
static int may_be_blank(struct slice value)
{
    while (value.at < value.end && is_space[*value.at])
        value.at++;
    return value.at == value.end || *value.at == '&';
}

/* Of a page with more places than are read, the tree tells which. */
static enum verdict count_places(struct page *page, Py_ssize_t more)
{
    page->places_left -= more;
    return page->places_left < 0 ? GIVEN_UP : FINE;
}

/* ------------------------------------------------------------------ what a page says */

/* Ends a text; what comes is in another link, or in none. */
static enum verdict end_text(struct page *page)
{
    if (!page->text.length)
        return FINE;
    PyObject *text = PyBytes_FromStringAndSize(
        (const char *)page->text.bytes, (Py_ssize_t)page->text.length);
    if (!text)
        return FAILED;
    page->text.length = 0;
    int failed = PyList_Append(page->texts, text) ||
                 PyList_Append(page->links, page->link ? page->link : Py_None);
    Py_DECREF(text);
    return failed ? FAILED : FINE;
}

/* What was opened in a link must be closed in it, in turn: otherwise the parser mends it, and part
 * of a link may be where it does not seem to be. */
static enum verdict end_link(struct page *page)
{
    if (!page->link)
        return FINE;
    if (page->in_link_count)
        return GIVEN_UP;
    TRY(end_text(page));
    Py_DECREF(page->link);
    page->link = NULL;
    return FINE;
}

/* One link ends another. */
static enum verdict start_link(struct page *page, const struct tag *tag)
{
    TRY(end_link(page));
    if (!tag->has_href)
        return FINE;
    TRY(end_text(page));
    TRY(resolve(page, tag->href, 1));
    struct buffer *href = &page->scratch;
    const byte *mark = memchr(href->bytes, '#', href->length);
    if (mark)
        href->length = (size_t)(mark - href->bytes);
    page->link = text_in_scratch(page);
    return page->link ? FINE : FAILED;
}

static enum verdict start_in_link(struct page *page, const struct tag *tag)
{
    struct slice name = name_of(tag);
    switch (tag->kind) {
    case ANCHOR:
    case META:
    case SCRIPT:
    case STYLE:
    case SVG:
        return FINE;
    case OTHER:
    case PREFORMATTED:
    case PARENT:
        if (IS_ONE_OF(name, VOID))
            return FINE;
        if (!tag->name_length || page->in_link_count == MAX_IN_LINK || IS_ONE_OF(name, APART))
            return GIVEN_UP;
        page->in_link[page->in_link_count++] = name;
        return FINE;
    default:
        return GIVEN_UP;
    }
}

static enum verdict end_in_link(struct page *page, const struct tag *tag)
{
    if (tag->kind == ANCHOR)
        return end_link(page);
    if (!page->in_link_count)
        return GIVEN_UP;
    struct slice name = name_of(tag), opened = page->in_link[--page->in_link_count];
    if (length_of(name) != length_of(opened))
        return GIVEN_UP;
    for (Py_ssize_t at = 0; at < length_of(name); at++)
        if (lowered[name.at[at]] != lowered[opened.at[at]])
            return GIVEN_UP;
    return FINE;
}

static enum verdict show(struct page *page, struct slice source)
{
    if (!source.at)
        return FINE;
    TRY(resolve(page, source, 1));
    PyObject *bytes = PyBytes_FromStringAndSize(
        (const char *)page->scratch.bytes, (Py_ssize_t)page->scratch.length);
    int failed = !bytes || PySet_Add(page->shown, bytes);
    Py_XDECREF(bytes);
    return failed ? FAILED : FINE;
}

/* Notes what a start tag means for what the page says. */
static enum verdict say(struct page *page, const struct tag *tag)
{
    struct slice name = name_of(tag);
    /* Then the base of all links is another one. */
    if (tag->carries && is_word(name, "base"))
        return GIVEN_UP;
    if (page->link)
        TRY(start_in_link(page, tag));
    if (tag->kind == ANCHOR)
        return start_link(page, tag);
    if ((!tag->source.at && !tag->late_source.at) || !IS_ONE_OF(name, SHOWN))
        return FINE;
    TRY(show(page, tag->source));
    return is_word(name, "img") ? show(page, tag->late_source) : FINE;
}

/* ------------------------------------------------------------------ elements by their kinds */

static enum verdict anchor(struct page *page, const struct tag *tag)
{
    if (tag->has_rel) {
        if (memchr(tag->rel.at, '&', (size_t)length_of(tag->rel)))
            return GIVEN_UP;
        const byte *refused = find_word(tag->rel, "nofollow");
        if (refused) {
            int begins = refused == tag->rel.at || is_space[refused[-1]];
            int ends = refused + 8 == tag->rel.end || is_space[refused[8]];
            int is_plain = begins && ends && length_of(tag->rel) < 1000 && !tag->carries;
            if (!is_plain)
                return GIVEN_UP;
            if (tag->has_href) {
                /* The search for places does not know of a blank one; the tree has it all the same. */
                if (may_be_blank(tag->href))
                    return GIVEN_UP;
                TRY(add_reference(page, tag->href, 1));
                TRY(count_places(page, 1));
            }
            return copy_element(page, tag);
        }
    }
    if (tag->carries)
        return GIVEN_UP;
    return tag->has_href ? add_reference(page, tag->href, 0) : FINE;
}

/* Finds the label in `text/html; charset=utf-8`. */
static int label_in(struct slice content, struct slice *label)
{
    const byte *at = find_word(content, "charset");
    if (!at)
        return 0;
    at += 7;
    while (at < content.end && is_space[*at])
        at++;
    if (at >= content.end || *at != '=')
        return 0;
    at++;
    while (at < content.end && is_space[*at])
        at++;
    label->at = at;
    while (at < content.end && (is_alphanumeric(*at) || *at == '-' || *at == '_'))
        at++;
    label->end = at;
    return at > label->at && (at == content.end || *at == ';' || is_space[*at]);
}

/* Takes the encoding that a page declares, if it does so in the first and only way. */
static enum verdict declared(struct page *page, const struct tag *tag)
{
    struct slice label = {NULL, NULL};
    if (tag->has_label)
        label = tag->label;
    if (tag->has_label ? find_word(tag->content, "charset") != NULL
                       : !(is_word(tag->pragma, "content-type") && label_in(tag->content, &label)))
        return GIVEN_UP;
    for (const byte *at = label.at; at < label.end; at++)
        if (!is_alphanumeric(*at) && *at != '-' && *at != '_')
            return GIVEN_UP;
    /* An earlier mention, in a comment or a script, might count for who looks there first; in a
     * title it does not. */
    struct slice before = {page->start, tag->whole.at};
    int may_count = find_word(before, "<!--") || find_word(before, "<script") ||
                    find_word(before, "<style");
    struct slice from_meta = {find_word(before, "<meta"), tag->whole.at};
    if (label.at == label.end || tag->whole.end - page->start > PRESCANNED ||
        (may_count && find_word(before, "charset")) ||
        (from_meta.at && find_word(from_meta, "charset")))
        return GIVEN_UP;
    page->label = label;
    return FINE;
}

/* Whether a name by which robots are spoken to is anywhere in a text. */
static int may_speak_to_robots(const struct page *page, struct slice text)
{
    for (Py_ssize_t number = 0; number < PyTuple_Size(page->names); number++)
        if (find_word(text, PyBytes_AsString(PyTuple_GetItem(page->names, number))))
            return 1;
    return 0;
}

static enum verdict meta(struct page *page, const struct tag *tag)
{
    int has_reference = memchr(tag->whole.at, '&', (size_t)length_of(tag->whole)) != NULL;
    /* Whether a refresh is inside noscript matters, and that is not copied. */
    if (find_word(tag->pragma, "refresh") || (has_reference && tag->pragma.at))
        return GIVEN_UP;
    if (page->wants_label && !page->label.at && find_word(tag->whole, "charset"))
        TRY(declared(page, tag));
    /* By reference it might be another description, and which is the first counts. */
    if (tag->subject.at && memchr(tag->subject.at, '&', (size_t)length_of(tag->subject)))
        return GIVEN_UP;
    if (is_word(tag->subject, "description")) {
        if (page->description)
            return FINE;
        TRY(resolve(page, tag->content, 1));
        page->description = text_in_scratch(page);
        return page->description ? FINE : FAILED;
    }
    int matters = has_reference || tag->carries || may_speak_to_robots(page, tag->whole);
    return matters ? copy_element(page, tag) : FINE;
}

/* Finds the end tag that ends the content of a script, a style, a title and the like. */
static struct slice content_of(struct page *page, const struct tag *tag)
{
    struct slice content = {page->at, page->end};
    const byte *at = page->at;
    while ((at = memchr(at, '<', (size_t)(page->end - at))) != NULL) {
        if (page->end - at < tag->name_length + 3)
            break;
        Py_ssize_t same = 0;
        if (at[1] == '/')
            while (same < tag->name_length && lowered[at[2 + same]] == tag->name[same])
                same++;
        if (at[1] == '/' && same == tag->name_length && ends_name[at[2 + same]]) {
            content.end = at;
            break;
        }
        at++;
    }
    page->at = content.end;
    return content;
}

/* Reads a script, a style, or text without markup, with its end tag. */
static enum verdict raw_content(struct page *page, const struct tag *tag)
{
    struct slice content = content_of(page, tag);
    struct tag closing;
    if (page->at < page->end)
        TRY(read_tag(page, &closing));
    if (tag->kind == SCRIPT) {
        const byte *comment = find_word(content, "<!--");
        if (comment && find_word((struct slice){comment, content.end}, "<script"))
            return GIVEN_UP;
        return tag->carries ? copy_element(page, tag) : FINE;
    }
    if (tag->kind == STYLE) {
        if (!find_word(content, "url(") && !find_word(content, "@import") &&
            !find_word(content, "image-set(") &&
            !memchr(content.at, '\\', (size_t)length_of(content)) && !tag->carries)
            return FINE;
        return copy(page, (struct slice){tag->whole.at, page->at});
    }
    if (tag->carries)
        TRY(copy_element(page, tag));
    return add_text(page, content, 0);
}

/* Whether a text begins with a reference that may be a line end: by its number, or as &NewLine;. */
static int may_be_line_end(struct slice text)
{
    return length_of(text) >= 2 && text.at[0] == '&' && (text.at[1] == '#' || text.at[1] == 'N');
}

/* Reads a title or a text area, in which references count and tags do not. */
static enum verdict replaceable_content(struct page *page, const struct tag *tag)
{
    struct slice content = content_of(page, tag);
    struct tag closing;
    if (page->at < page->end)
        TRY(read_tag(page, &closing));
    if (tag->kind == TEXTAREA) {
        if (may_be_line_end(content))
            return GIVEN_UP;
        content.at += content.at < content.end && *content.at == '\r';
        content.at += content.at < content.end && *content.at == '\n';
    } else if (!page->title) {
        TRY(resolve(page, content, 0));
        page->title = text_in_scratch(page);
        if (!page->title)
            return FAILED;
    }
    return tag->carries ? GIVEN_UP : add_text(page, content, 1);
}

/* Reads a drawing up to its end; those tags of it are copied that may carry a URL. */
static enum verdict drawing(struct page *page, const struct tag *outer)
{
    int in_label = 0, links = 0, carries = outer->carries;
    if (outer->closes_itself)
        return carries ? copy(page, outer->whole) : FINE;
    /* It stays one piece. */
    page->parents++;
    if (carries)
        TRY(copy(page, outer->whole));
    for (;;) {
        TRY(read_text(page));
        if (page->end - page->at < 2 || page->at[1] == '!' || page->at[1] == '?')
            return GIVEN_UP;
        byte first = lowered[page->at[1] == '/' && page->end - page->at > 2 ? page->at[2] : page->at[1]];
        if (first < 'a' || first > 'z')
            return GIVEN_UP;
        struct tag tag;
        TRY(read_tag(page, &tag));
        if (!tag.whole.at)
            return GIVEN_UP;
        /* In a title is HTML again; mostly only text. */
        if (in_label || tag.kind == TITLE) {
            if (tag.kind != TITLE || tag.is_end != in_label || tag.closes_itself)
                return GIVEN_UP;
            in_label = !in_label;
            continue;
        }
        if (tag.is_end && tag.kind == SVG)
            break;
        if (tag.kind == ANCHOR) {
            /* With an xlink:href it is like others here; its end must not be that of a link outside. */
            if (tag.is_end ? !links : tag.has_href || tag.has_rel)
                return GIVEN_UP;
            links += tag.is_end ? -1 : !tag.closes_itself;
        } else if (tag.kind != DRAWING) {
            return GIVEN_UP;
        }
        if (tag.is_end || !tag.carries)
            continue;
        TRY(count_places(page, tag.places));
        if (!carries)
            TRY(copy(page, outer->whole));
        carries = 1;
        TRY(copy_element(page, &tag));
    }
    page->parents--;
    static const byte END[] = "</svg>";
    return carries ? copy(page, (struct slice){END, END + sizeof END - 1}) : FINE;
}

static enum verdict start_of_root(struct page *page, const struct tag *tag)
{
    int *met = tag->kind == HTML ? &page->has_html : tag->kind == HEAD ? &page->has_head : &page->in_body;
    if (*met || page->table_count || page->in_select)
        return GIVEN_UP;
    /* Where they are expected they make their elements; elsewhere they add to those that are. */
    if (tag->kind != BODY && (page->began || page->in_body))
        return GIVEN_UP;
    if (tag->kind == HTML && page->has_head)
        return GIVEN_UP;
    /* What it carries goes to the beginning of the body, which may have been left behind. */
    if (tag->kind == BODY && tag->carries && (page->beyond_head || page->maybe_beyond_head))
        return GIVEN_UP;
    *met = 1;
    if (tag->kind != HTML)
        page->began = 1;
    page->beyond_head |= tag->kind == BODY;
    return tag->carries ? copy(page, tag->whole) : FINE;
}

/* Whether it is thead, tbody or tfoot, of all parts of a table; cells that are in none get a tbody. */
static int is_section(const struct tag *tag)
{
    return tag->name_length == 5;
}

static void start_table(struct page *page)
{
    page->sections[page->table_count] = 0;
    page->tables[page->table_count++] = TABLE;
}

/* Keeps track of where in a table we are; what stands between its cells goes elsewhere. */
static enum verdict start_in_table(struct page *page, const struct tag *tag)
{
    byte *place = &page->tables[page->table_count - 1];
    byte *section = &page->sections[page->table_count - 1];
    switch (tag->kind) {
    case TABLE:
        if (*place == TABLE || page->table_count == MAX_TABLES)
            return GIVEN_UP;
        start_table(page);
        return FINE;
    case CELL:
        *place = tag->name[1];  /* d or h */
        *section = *section ? *section : 'b';
        return FINE;
    case CAPTION:
        *place = CAPTION;
        *section = 0;
        return FINE;
    case TABLE_PART:
        *place = TABLE;
        if (is_section(tag))
            *section = tag->name[1];
        else if (tag->name[1] != 'r')
            *section = 0;   /* of columns */
        else if (!*section)
            *section = 'b';
        return FINE;
    case SCRIPT:
    case STYLE:
        return FINE;
    case FORM:
        return FINE;
    default:
        return *place == TABLE ? GIVEN_UP : FINE;
    }
}

static enum verdict end_in_table(struct page *page, const struct tag *tag)
{
    byte *place = &page->tables[page->table_count - 1];
    byte *section = &page->sections[page->table_count - 1];
    switch (tag->kind) {
    case TABLE:
        page->table_count--;
        return FINE;
    case CELL:
        if (*place != tag->name[1])
            return GIVEN_UP;
        *place = TABLE;
        return FINE;
    case CAPTION:
        if (*place != CAPTION)
            return GIVEN_UP;
        *place = TABLE;
        return FINE;
    case TABLE_PART:
        if (is_section(tag) && *section == tag->name[1])
            *section = 0;   /* with the cell that is open in it */
        else if (*place == TABLE)
            return FINE;
        else if (*place == CAPTION || !is_word(name_of(tag), "tr"))
            return GIVEN_UP;
        *place = TABLE;
        return FINE;
    case FORM:
        return FINE;
    default:
        return *place == TABLE ? GIVEN_UP : FINE;
    }
}

/* Keeps track of whether the body began. */
static enum verdict start_in_head(struct page *page, const struct tag *tag)
{
    switch (tag->kind) {
    case TITLE:
    case RAW:
        /* It goes into the head, before the white space after that. */
        if (page->after_head)
            return GIVEN_UP;
        page->maybe_beyond_head |= tag->kind == RAW;
        return FINE;
    case META:
    case SCRIPT:
    case STYLE:
        return FINE;
    default:
        if (!IS_ONE_OF(name_of(tag), IN_HEAD))
            page->beyond_head = 1;
        else if (is_word(name_of(tag), "noscript"))
            page->maybe_beyond_head = 1;
        return FINE;
    }
}

/* Copies an element that may carry a URL and is nothing special. */
static enum verdict copy_other(struct page *page, const struct tag *tag)
{
    struct slice name = name_of(tag);
    /* One noscript inside of another does not count in the head. */
    if (IS_ONE_OF(name, FORMATTING) || is_word(name, "noscript"))
        return GIVEN_UP;
    if (IS_ONE_OF(name, CHILDLESS)) {
        /* Of a source it matters what it is in. */
        if (page->parent == UNSURE && is_word(name, "source"))
            return GIVEN_UP;
    } else if (page->parent) {
        page->parent = UNSURE;
    }
    return copy_element(page, tag);
}

/* Whether we are where an element without a kind of its own means nothing. */
static inline int is_ordinary(const struct page *page)
{
    return page->beyond_head && !page->texts && !page->in_select &&
           page->parent != LAST_IS_PARENT &&
           (!page->table_count || page->tables[page->table_count - 1] != TABLE);
}

static enum verdict start_tag(struct page *page, const struct tag *tag)
{
    if (tag->kind == OTHER && !tag->carries && is_ordinary(page))
        return FINE;
    TRY(count_places(page, tag->places));
    if (tag->kind == HTML || tag->kind == HEAD || tag->kind == BODY)
        return start_of_root(page, tag);
    page->began = 1;
    if (page->in_select && tag->kind != OPTION && tag->kind != SCRIPT)
        return GIVEN_UP;
    if (page->table_count)
        TRY(start_in_table(page, tag));
    if (!page->beyond_head)
        TRY(start_in_head(page, tag));
    if (page->texts) {
        TRY(say(page, tag));
        if (tag->kind == ANCHOR || tag->kind == META || tag->kind == OTHER)
            return FINE;
    }
    if (tag->kind == OTHER && tag->carries)
        return copy_other(page, tag);
    if (page->parent)
        page->parent = UNSURE;
    switch (tag->kind) {
    case ANCHOR:
        return anchor(page, tag);
    case META:
        return meta(page, tag);
    case SCRIPT:
    case STYLE:
    case RAW:
        return raw_content(page, tag);
    case TITLE:
    case TEXTAREA:
        return replaceable_content(page, tag);
    case SVG:
        return drawing(page, tag);
    case PARENT:
        page->parents++;
        page->parent = LAST_IS_PARENT;
        return copy(page, tag->whole);
    case UNUSUAL:
    case DRAWING:   /* the end tag of one outside might end the drawing */
        return GIVEN_UP;
    case TABLE:
        if (!page->table_count)
            start_table(page);
        return tag->carries ? GIVEN_UP : FINE;
    case CELL:
    case CAPTION:
    case TABLE_PART:
        return tag->carries ? GIVEN_UP : FINE;
    case SELECT:
        page->in_select = 1;
        return tag->carries ? GIVEN_UP : FINE;
    case OPTION:
    case FORM:  /* one inside of another does not count */
        return tag->carries ? GIVEN_UP : FINE;
    case PREFORMATTED:
        if (may_be_line_end((struct slice){page->at, page->end}))
            return GIVEN_UP;
        if (page->at < page->end && *page->at == '\r')
            page->at++;
        if (page->at < page->end && *page->at == '\n')
            page->at++;
        return tag->carries ? copy_element(page, tag) : FINE;
    default:
        return FINE;
    }
}

static enum verdict end_tag(struct page *page, const struct tag *tag)
{
    if ((tag->kind == OTHER || tag->kind == ANCHOR) && is_ordinary(page))
        return FINE;
    if (!page->began)
        return GIVEN_UP;
    if (tag->kind == HEAD)
        page->after_head = 1;
    else
        page->maybe_beyond_head = 1;
    if (page->parent)
        page->parent = UNSURE;
    if (page->in_select) {
        if (tag->kind == SELECT)
            page->in_select = 0;
        else if (tag->kind != OPTION)
            return GIVEN_UP;
        return FINE;
    }
    if (page->table_count)
        TRY(end_in_table(page, tag));
    if (page->link)
        TRY(end_in_link(page, tag));
    if (tag->kind != PARENT || !page->parents)
        return FINE;
    page->parents--;
    return copy(page, tag->whole);
}

/* ------------------------------------------------------------------ the page as a whole */

static const byte *after(const byte *at, const byte *end, byte mark)
{
    const byte *found = memchr(at, mark, (size_t)(end - at));
    return found ? found + 1 : end;
}

/* Passes over a comment, after its `<!--`. */
static const byte *after_comment(const byte *at, const byte *end)
{
    if (at < end && *at == '>')
        return at + 1;
    if (end - at >= 2 && at[0] == '-' && at[1] == '>')
        return at + 2;
    while (at < end && (at = memchr(at, '-', (size_t)(end - at))) != NULL) {
        if (end - at >= 3 && at[1] == '-' && at[2] == '>')
            return at + 3;
        if (end - at >= 4 && at[1] == '-' && at[2] == '!' && at[3] == '>')
            return at + 4;
        at++;
    }
    return end;
}

#ifdef HAS_SIXTEENS
/* Puts text up to a place, or up to a line end or a reference before it, or none of it if not all is
 * wanted; returns where. Behind the place are sixteen bytes at least. */
static inline const byte *put_plain_text(struct page *page, const byte *at, const byte *end)
{
    byte *out = page->text.bytes + page->text.length;
    if (!wants_text(page, page->text.length + (size_t)(end - at)))
        return wants_text(page, page->text.length) ? at : end;
    page->text.length += (size_t)(end - at);
    /* The first time without asking whether there is any: nobody can guess that. */
    do {
        sixteen bytes = sixteen_at(at);
        _mm_storeu_si128((sixteen *)out, bytes);
        uint32_t odd = bits_of(either(are(bytes, '&'), are(bytes, '\r')));
        if (odd && first_bit(odd) < end - at) {
            at += first_bit(odd);
            page->text.length -= (size_t)(end - at);
            return at;
        }
        at += 16;
        out += 16;
    } while (at < end);
    return end;
}

/* Passes over text and over tags that mean nothing here, as long as these are of the usual form. Only
 * where an element without a kind of its own means nothing. Returns where something else begins. */
static const byte *hurry(struct page *page, const byte *at)
{
    const byte *last = page->end - 16;
    for (;;) {
        struct ahead ahead = {at, marks_ahead(page->marks, (size_t)(at - page->start))};
        const byte *angle = next_such(page, &ahead, '<', last), *mark = next_mark(page, &ahead);
        if (mark >= last || !is_markup(angle, page->end))
            return at;
        at = put_plain_text(page, at, angle);
        if (at != angle)
            return at;
        int is_end = angle[1] == '/';
        at = angle + 1 + is_end;
        int length = length_of_name(at, 0);
        /* Nor does the end of a link. */
        if (!is_letter(*at) || length == 16 ||
            (may_be_known(at, length) && !(is_end && length == 1 && (*at | 32) == 'a')))
            return angle;
        at += length;
        while (*mark != '>') {
            if (is_end || !is_attribute(at, mark) || may_matter((struct slice){at + 1, mark - 1}))
                return angle;
            at = next_such(page, &ahead, *mark, last) + 1;
            mark = next_mark(page, &ahead);
            if (mark >= last)
                return angle;
        }
        if (mark != at)
            return angle;
        at++;
    }
}
#endif

static enum verdict read_page(struct page *page)
{
#ifdef HAS_SIXTEENS
    page->marks = malloc(MARKS_ROOM((size_t)(page->end - page->start)));
    if (!page->marks)
        return FAILED;
    look_for_marks(page->start, page->end, page->marks);
#endif
    if (wants_text(page, 0) && !reserve_text(page, page->at))
        return FAILED;
    const byte *at, *end = page->end;
    while ((at = page->at) < end) {
#ifdef HAS_SIXTEENS
        if (end - at > 64 && is_ordinary(page))
            at = page->at = hurry(page, at);
#endif
        if (*at != '<' || !is_markup(at, end)) {
            TRY(read_text(page));
        } else if (is_letter(at[1]) || (at[1] == '/' && end - at > 2 && is_letter(at[2]))) {
            struct tag tag;
            TRY(read_tag(page, &tag));
            if (tag.whole.at)
                TRY(tag.is_end ? end_tag(page, &tag) : start_tag(page, &tag));
        } else if (at[1] == '/' && (end - at == 2 || !at[2])) {
            return GIVEN_UP;
        } else if (at[1] == '!' && end - at >= 4 && at[2] == '-' && at[3] == '-') {
            page->at = after_comment(at + 4, end);
        } else {
            page->at = after(at + 2, end, '>');
        }
    }
    TRY(end_piece(page));
    struct slice prescanned = {page->start, page->end};
    if (length_of(prescanned) > PRESCANNED)
        prescanned.end = page->start + PRESCANNED;
    if (page->wants_label && !page->label.at && find_word(prescanned, "charset"))
        return GIVEN_UP;
    return FINE;
}

/* How long the character is that begins with a byte beyond ASCII, if it is UTF-8 as the standard has
 * it; 0 if it is not. */
static inline int length_of_character(const byte *at, const byte *end)
{
    byte first = *at;
    int more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
    if (first < 0xC2 || first > 0xF4 || end - at <= more)
        return 0;
    byte second = at[1];
    byte least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    byte most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    if (second < least || second > most)
        return 0;
    for (int number = 2; number <= more; number++)
        if ((at[number] & 0xC0) != 0x80)
            return 0;
    return more + 1;
}

/* Whether bytes are UTF-8 without NUL; tells whether they are ASCII. */
static int is_sound(const byte *at, const byte *end, int *is_ascii)
{
    *is_ascii = 1;
    while ((at = after_plain(at, end)) < end) {
        *is_ascii = 0;
        /* Where there is one of these, there are mostly more. */
        do {
            int length = length_of_character(at, end);
            if (!length)
                return 0;
            at += length;
        } while (at < end && *at >= 0x80);
    }
    return 1;
}

/* The fingerprint: a number, None, or the prepared text for the library. */
static PyObject *fingerprint_of(struct page *page, const byte *rows)
{
    uint64_t fingerprint;
    if (!rows)
        Py_RETURN_NONE;
    switch (simhash(
        page->text.bytes, &page->text.length, (size_t)page->most_text, rows, &fingerprint)) {
    case NO_FINGERPRINT:
        Py_RETURN_NONE;
    case FINGERPRINT:
        return PyLong_FromUnsignedLongLong(fingerprint);
    case LEFT_TO_LIBRARY:
        return PyBytes_FromStringAndSize(
            (const char *)page->text.bytes, (Py_ssize_t)page->text.length);
    default:
        return PyErr_NoMemory();
    }
}

static PyObject *what_is_said(struct page *page, int is_ascii)
{
    return Py_BuildValue(
        "(NOOO)", PyBool_FromLong(is_ascii), page->texts, page->links, page->shown);
}

static PyObject *result_of(struct page *page, int is_ascii, const byte *rows)
{
    PyObject *fingerprint = fingerprint_of(page, rows);
    if (!fingerprint)
        return NULL;
    return Py_BuildValue(
        "(s#NOOOON)", (const char *)page->label.at, length_of(page->label),
        PyBool_FromLong(is_ascii), page->title ? page->title : Py_None,
        page->description ? page->description : Py_None, page->references, page->pieces,
        fingerprint);
}

/* Makes ready to read a page; 0 if it needs its tree, or with an error. */
static int open_page(struct page *page, PyObject *body, PyObject *entities, int *is_ascii)
{
    char *bytes;
    Py_ssize_t length;
    if (PyBytes_AsStringAndSize(body, &bytes, &length) < 0)
        return 0;
    const byte *start = (const byte *)bytes;
    release_wide_registers();
    if (!is_sound(start, start + length, is_ascii))
        return 0;
    if (length >= 3 && start[0] == 0xEF && start[1] == 0xBB && start[2] == 0xBF)
        return 0;
    memset(page, 0, sizeof *page);
    page->start = page->at = start;
    page->end = start + length;
    page->entities = entities;
    return 1;
}

/* Gives back what reading took; returns the result, or None where it was given up. */
static PyObject *close_page(struct page *page, enum verdict verdict, PyObject *result)
{
    if (verdict == GIVEN_UP)
        result = Py_NewRef(Py_None);
    else if (verdict == FAILED && !PyErr_Occurred())
        PyErr_NoMemory();
    PyObject *const owned[] = {
        page->references, page->refused, page->pieces, page->title, page->description,
        page->texts, page->links, page->shown, page->link,
    };
    for (size_t number = 0; number < sizeof owned / sizeof *owned; number++)
        Py_XDECREF(owned[number]);
    free(page->marks);
    free(page->piece.bytes);
    free(page->text.bytes);
    free(page->scratch.bytes);
    return result;
}

/* Whether all are words that can be looked for; else with an error. */
static int are_words(PyObject *names)
{
    for (Py_ssize_t number = 0; number < PyTuple_Size(names); number++) {
        const char *name = PyBytes_AsString(PyTuple_GetItem(names, number));
        if (name && *name)
            continue;
        if (name)
            PyErr_SetString(PyExc_ValueError, "robots have a name");
        return 0;
    }
    return 1;
}

/* What is given, in order. To have it read by a format would take 2,500 instructions. */
enum {
    GIVEN_BODY, GIVEN_ENTITIES, GIVEN_WANTS_LABEL, GIVEN_MOST_PLACES, GIVEN_TEXT_LENGTH, GIVEN_ROWS,
    GIVEN_NAMES, ARGUMENTS,
};

/* Whether they are what they should be; else with an error. */
static int are_arguments(PyObject *const *given, Py_ssize_t count)
{
    if (count != ARGUMENTS || !PyBytes_Check(given[GIVEN_BODY]) ||
        !PyDict_Check(given[GIVEN_ENTITIES]) || !PyTuple_Check(given[GIVEN_NAMES]) ||
        (given[GIVEN_ROWS] != Py_None && !PyBytes_Check(given[GIVEN_ROWS]))) {
        PyErr_SetString(PyExc_TypeError, "skim takes bytes, a dict, a bool, two numbers, bytes or "
                                         "None, and a tuple");
        return 0;
    }
    if (given[GIVEN_ROWS] != Py_None && PyBytes_Size(given[GIVEN_ROWS]) != ROWS * LANES) {
        PyErr_SetString(PyExc_ValueError, "a fingerprint takes 256 rows of 64 bytes");
        return 0;
    }
    return are_words(given[GIVEN_NAMES]);
}

static PyObject *skim(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    (void)module;
    if (!are_arguments(given, count))
        return NULL;
    int wants_label = PyObject_IsTrue(given[GIVEN_WANTS_LABEL]);
    Py_ssize_t most_places = PyLong_AsSsize_t(given[GIVEN_MOST_PLACES]);
    Py_ssize_t text_length = PyLong_AsSsize_t(given[GIVEN_TEXT_LENGTH]);
    if (PyErr_Occurred())
        return NULL;
    PyObject *names = given[GIVEN_NAMES];
    const char *rows = given[GIVEN_ROWS] == Py_None ? NULL : PyBytes_AsString(given[GIVEN_ROWS]);
    int is_ascii;
    struct page own, *page = &own;
    if (!open_page(page, given[GIVEN_BODY], given[GIVEN_ENTITIES], &is_ascii))
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    page->names = names;
    page->wants_label = wants_label;
    page->places_left = most_places;
    page->most_text = rows ? text_length : 0;
    page->references = PyDict_New();
    page->pieces = PyList_New(0);
    enum verdict verdict = page->references && page->pieces ? read_page(page) : FAILED;
    return close_page(
        page, verdict, verdict == FINE ? result_of(page, is_ascii, (const byte *)rows) : NULL);
}

static PyObject *said(PyObject *module, PyObject *arguments)
{
    (void)module;
    PyObject *body, *entities;
    if (!PyArg_ParseTuple(arguments, "SO!", &body, &PyDict_Type, &entities))
        return NULL;
    int is_ascii;
    struct page own, *page = &own;
    if (!open_page(page, body, entities, &is_ascii))
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    page->places_left = page->most_text = PY_SSIZE_T_MAX;
    page->texts = PyList_New(0);
    page->links = PyList_New(0);
    page->shown = PySet_New(NULL);
    enum verdict verdict = page->texts && page->links && page->shown ? read_page(page) : FAILED;
    if (verdict == FINE)
        verdict = end_text(page);
    return close_page(page, verdict, verdict == FINE ? what_is_said(page, is_ascii) : NULL);
}

static PyObject *title_said(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    (void)module;
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "title_said takes 2 arguments");
        return NULL;
    }
    Py_ssize_t length, url_length;
    const char *title = PyUnicode_AsUTF8AndSize(given[0], &length), *name;
    const char *url = title ? PyUnicode_AsUTF8AndSize(given[1], &url_length) : NULL;
    if (url && length <= LONGEST_TITLE && url_length == PyUnicode_GetLength(given[1])) {
        uint8_t said[LONGEST_TITLE];
        size_t left = (size_t)length, size = made_up_name(url, (size_t)url_length, &name);
        memcpy(said, title, left);
        if (size)
            left = without_word(said, left, name, size);
        left = join_clauses(said, left);
        return PyBytes_FromStringAndSize((const char *)said, (Py_ssize_t)left);
    }
    /* Half a character is no error. */
    if (!url && !PyErr_ExceptionMatches(PyExc_UnicodeError))
        return NULL;
    PyErr_Clear();
    Py_RETURN_NONE;
}

static PyMethodDef METHODS[] = {
    {"skim", (PyCFunction)(void (*)(void))skim, METH_FASTCALL,
     "skim(body, entities, wants_label, most_places, text_length, rows, names) -> (label, is_ascii, "
     "title, description, references, pieces, fingerprint), or None if the page needs its tree."},
    {"said", said, METH_VARARGS,
     "said(body, entities) -> (is_ascii, texts, links, shown), or None if the page needs its tree: "
     "its text in parts, for each the reference of the link that it is in or None, and the sources "
     "of what is shown."},
    {"title_said", (PyCFunction)(void (*)(void))title_said, METH_FASTCALL,
     "title_said(title, url) -> what is compared of a title, or None if that needs more care."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT, "_skim", "Skims an ordinary HTML page.", 0, METHODS, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__skim(void)
{
    fill_tables();
    PyObject *module = PyModule_Create(&MODULE);
    if (!module)
        return NULL;
    PyObject *carriers = PyTuple_New(sizeof CARRIERS / sizeof *CARRIERS);
    for (size_t number = 0; carriers && number < sizeof CARRIERS / sizeof *CARRIERS; number++)
        PyTuple_SetItem(carriers, (Py_ssize_t)number, PyUnicode_FromString(CARRIERS[number]));
    if (!carriers || PyModule_AddObjectRef(module, "CARRIERS", carriers) < 0) {
        Py_XDECREF(carriers);
        Py_DECREF(module);
        return NULL;
    }
    Py_DECREF(carriers);
    return module;
}
