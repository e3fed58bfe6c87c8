"""Read the selected fields of a message as rows, and write new values into the message's bytes.

For invalid bytes, walk.h finds the position, and the layout interpreter raises the error. If C can't write a new value,
`rewrite` returns None, and Python rewrites the message (`tagwire.selection.splicing`).
"""

from libc.string cimport memset


@final
@no_gc_clear
cdef class Choosing(Owner):
    """A selection of fields in one version of a message. Raises NotNative if C can't read the selected paths."""

    cdef const tw_choice *root
    cdef Plan plan
    cdef Py_ssize_t width
    cdef bint whole
    cdef object drop

    def __cinit__(self, Plan plan, paths, drop):
        layout = plan.layout()
        self.plan = plan
        self.kept.append(layout)
        self.width = len(paths.strings)
        self.whole = not paths.row_path
        self.drop = drop
        if plan.has_rules:
            raise NotNative(f"{layout} has rules that involve several fields, so it must be decoded as a whole")
        if plan.framed or self.width > TW_MOST_COLUMNS:
            raise NotNative(f"the engine can select at most {TW_MOST_COLUMNS} fields, and only in messages, but {self.width} fields of {layout} are selected")
        self.root = self.choice(layout.root, plan.root, paths.root)

    cdef const tw_choice *choice(self, object layout, const tw_struct *s, object step) except NULL:
        """Build the C structs for a struct's selected fields, which are the children of `step`."""
        cdef tw_choice *choice = <tw_choice *>self.memory(sizeof(tw_choice))
        cdef const tw_chosen **chosen = <const tw_chosen **>self.memory(s.items_count * sizeof(void *))
        cdef Py_ssize_t index, one
        if s.length != TW_NO_LENGTH:
            raise NotNative(f"the engine can't select fields of {layout.name}, because a length precedes this struct")
        choice.plan = s
        choice.items_count = s.items_count
        choice.chosen = chosen
        for index, item in enumerate(layout.items):
            if item.name in step.steps:
                chosen[index] = self.some(&s.items[index], (item,), step, &one)
        choice.items = self.items(s, chosen)
        tagged = () if layout.section is None else layout.section.fields
        choice.tagged = self.some(s.tagged, tagged, step, &choice.tagged_count)
        if choice.tagged_count and s.section != TW_TAGGED_SECTION:
            raise NotNative(f"the engine can't select optional fields of {layout.name}, because they are in a buffer")
        choice.missing = self.some(s.missing, layout.missing, step, &choice.missing_count)
        return choice

    cdef tw_chosen *some(self, const tw_field *fields, tuple items, object step, Py_ssize_t *count) except NULL:
        """Return a C array of the selected fields among `fields`, which belong to `items`. Store its size in `count`."""
        cdef Py_ssize_t index
        cdef tw_chosen *chosen = <tw_chosen *>self.memory(len(items) * sizeof(tw_chosen))
        count[0] = 0
        for index, item in enumerate(items):
            if item.name in step.steps:
                chosen[count[0]].field = &fields[index]
                self.fill(&chosen[count[0]], step.steps[item.name], item)
                count[0] += 1
        return chosen

    cdef int fill(self, tw_chosen *chosen, object step, object item) except -1:
        """Fill in the C struct of the selected field `step`. `item` is the field's `Item` or `Missing` in the layout."""
        cdef int *columns = <int *>self.memory(len(step.columns) * sizeof(int))
        cdef const tw_struct *child
        for index, column in enumerate(step.columns):
            columns[<Py_ssize_t>index] = column
        chosen.columns = columns
        chosen.columns_count = len(step.columns)
        chosen.column = -1 if step.column is None else step.column
        chosen.each = step.each
        chosen.is_row = step.is_row
        chosen.has_row = has_row(step)
        if isinstance(item, Missing) or item.tag is not None:
            self.make_holes(chosen, step, item)
        if isinstance(item, Missing):
            return 0
        type = item.type
        if step.each:
            if type.length is None:
                raise NotNative("the engine can't select fields in an array that has no count, but extends to the end of the data")
            type = type.element
        if step.column is not None:
            while isinstance(type, Array):
                type = type.element
            chosen.has_structs = isinstance(type, Nested)
            return 0
        child = chosen.field.element.child if step.each else chosen.field.child
        chosen.inside = self.choice(type.struct, child, step)
        return 0

    cdef const tw_field *items(self, const tw_struct *s, const tw_chosen **chosen) except NULL:
        """Copy a struct's fields, and split runs of fixed-width fields (tw_field.run) at the selected fields."""
        cdef tw_field *fields = <tw_field *>self.memory(s.items_count * sizeof(tw_field))
        cdef Py_ssize_t index
        for index in range(s.items_count):
            fields[index] = s.items[index]
        set_runs(fields, s.items_count, <const void **>chosen)
        return fields

    cdef int make_holes(self, tw_chosen *chosen, object step, object field) except -1:
        """Set `chosen.holes`: the values that a field's columns get if a message does not contain the field."""
        cdef tw_hole *holes = <tw_hole *>self.memory(len(step.columns) * sizeof(tw_hole))
        chosen.holes = holes
        if step.column is not None and not step.each:
            holes[0].column = step.column
            holes[0].field = chosen.field
            chosen.holes_count = 1
        elif not chosen.has_row:
            self.hole(holes, &chosen.holes_count, step, field.default_value())
        return 0

    cdef int hole(self, tw_hole *holes, Py_ssize_t *count, object step, object value) except -1:
        """Add to `holes` what the columns of `step` get if the field is absent. `value` is the field's default."""
        if value is None or step.each or step.column is not None:
            if value is not None and not can_be_shared(value):
                raise NotNative(f"the engine does not support the default of {step.name}, because it is mutable")
            for column in step.columns:
                holes[count[0]].column = column
                holes[count[0]].is_list = step.each and value is not None
                holes[count[0]].value = <PyObject *>value
                self.kept.append(value)
                count[0] += 1
            return 0
        for name, inner in step.steps.items():
            self.hole(holes, count, inner, getattr(value, name))
        return 0

    def read(self, bytes data, Py_ssize_t offset, limits):
        """Return the rows of the message from `offset` to the end of `data`, or None if C can't read it."""
        return self.rows(data, offset, limits, NULL)

    def rewrite(self, bytes data, Py_ssize_t offset, limits, change):
        """Change the selected values in a message's bytes, and return the new bytes.

        `change(rows)` gets the old values, and returns the new rows and the elements to append to arrays. Returns None
        if C can't read the old values (`change` is then not called) or can't write the new ones.
        """
        cdef int64_t *marks = NULL
        try:
            rows = self.rows(data, offset, limits, &marks)
            if rows is None:
                return None
            changed, appended = change(rows)
            return self.spliced(data, rows, marks, changed, appended)
        finally:
            PyMem_Free(marks)

    cdef object spliced(self, bytes data, list rows, const int64_t *marks, object changed, object appended):
        cdef tw_splice x
        cdef uint8_t stack[STACK]
        memset(&x, 0, sizeof(x))
        start_writing(&x.w, stack)
        x.w.expected = len(data) + len(data) // 16 + SLACK
        x.start = TW_BYTES_DATA(<PyObject *>data)
        x.size = len(data)
        x.marks = marks
        x.rows = <PyObject *>rows
        x.changed = <PyObject *>changed
        x.appended = <PyObject *>appended
        x.drop = <PyObject *>self.drop
        if tw_splice_message(self.root, &x, self.whole) == 0:
            return taken(tw_finish(&x.w))
        tw_discard(&x.w)
        rejected_value()
        return None

    cdef list rows(self, bytes data, Py_ssize_t offset, object limits, int64_t **marks):
        """Return the rows. If `marks` isn't NULL, store the values' positions (see collect.h), which the caller frees."""
        cdef tw_collect c
        cdef list path = []
        cdef list rows = []
        cdef int failed
        memset(&c, 0, sizeof(c))
        if not 0 <= offset <= len(data) or not start_walk(&c.w, data, offset, limits):
            return None
        if c.w.depth < self.plan.depth:  # collect.h does not check the nesting depth
            self.plan.reject(data, offset, True, limits)
        c.w.depth = INT64_MAX
        c.w.r.shared = &SHARED
        c.w.path = c.w.open = <PyObject *>path
        c.rows = <PyObject *>rows
        c.width = self.width
        c.marking = marks != NULL
        failed = tw_collect_message(self.root, &c, self.whole)
        if marks != NULL:
            marks[0] = c.marks
        if failed == 0:
            return rows
        if PyErr_Occurred() != NULL:
            reraise()
        self.plan.reject(data, offset, True, limits)
        return None


cdef bint has_row(object step) except -1:
    """Return whether the field `step`, or a field inside it, is an array whose elements become rows."""
    return step.is_row or any([has_row(inner) for inner in step.steps.values()])
