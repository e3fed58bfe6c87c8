"""Read the selected fields of a message as rows, and write new values into the message's bytes.

For invalid bytes, walk.h finds the position, and the layout interpreter raises the error. If C can't write a new value,
`rewrite` returns None, and Python rewrites the message (`tagwire.selection.splicing`).
"""

from libc.string cimport memset


@final
@no_gc_clear
cdef class Choosing(Owner):
    """A selection of fields in one version of a message. Raises NotNative if C can't read the selected paths."""

    cdef const tw_struct *root
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
        self.root = self.struct(layout.root, plan.root, paths.root)

    cdef const tw_struct *struct(self, object layout, const tw_struct *s, object step) except NULL:
        """Copy the plan of a struct, and mark the selected fields, which are the children of `step`."""
        cdef tw_struct *result = <tw_struct *>self.memory(sizeof(tw_struct))
        if s.length != TW_NO_LENGTH:
            raise NotNative(f"the engine can't select fields of {layout.name}, because a length precedes this struct")
        tagged = () if layout.section is None else layout.section.fields
        result[0] = s[0]
        result.has_chosen = True
        result.items = self.fields(s.items, layout.items, step)
        set_runs(<tw_field *>result.items, result.items_count)
        result.has_chosen_tags = any([field.name in step.steps for field in tagged])
        if result.has_chosen_tags and s.section != TW_TAGGED_SECTION:
            raise NotNative(f"the engine can't select optional fields of {layout.name}, because they are in a buffer")
        result.tagged = self.fields(s.tagged, tagged, step)
        result.has_chosen_missing = any([field.name in step.steps for field in layout.missing])
        result.missing = self.fields(s.missing, layout.missing, step)
        return result

    cdef const tw_field *fields(self, const tw_field *fields, items, object step) except NULL:
        """Copy the fields `items` of a struct, and mark the selected ones."""
        cdef tw_field *copies = <tw_field *>self.memory(len(items) * sizeof(tw_field))
        cdef Py_ssize_t index
        for index, item in enumerate(items):
            copies[index] = fields[index]
            if item.name in step.steps:
                self.fill(&copies[index], &fields[index], step.steps[item.name], item)
        return copies

    cdef int fill(self, tw_field *field, const tw_field *original, object step, object item) except -1:
        """Mark a selected field. `step` is its step in the selected paths, and `item` is the field in the layout."""
        cdef tw_chosen *chosen = <tw_chosen *>self.memory(sizeof(tw_chosen))
        cdef int *columns = <int *>self.memory(len(step.columns) * sizeof(int))
        cdef tw_field *element
        for index, column in enumerate(step.columns):
            columns[<Py_ssize_t>index] = column
        field.chosen = chosen
        chosen.field = original
        chosen.columns = columns
        chosen.columns_count = len(step.columns)
        chosen.column = -1 if step.column is None else step.column
        chosen.each = step.each
        chosen.is_row = step.is_row
        chosen.has_row = has_row(step)
        if isinstance(item, Missing) or item.tag is not None:
            self.make_holes(chosen, field, step, item)
        if isinstance(item, Missing):
            return 0
        type = item.type
        if step.each:
            if type.length is None:
                raise NotNative("the engine can't select fields in an array that has no count, but extends to the end of the data")
            type = type.element
            element = <tw_field *>self.memory(sizeof(tw_field))
            element[0] = field.element[0]
            field.element = element
        if step.column is not None:
            while isinstance(type, Array):
                type = type.element
            chosen.has_structs = isinstance(type, Nested)
        elif step.each:
            element.child = self.struct(type.struct, element.child, step)
        else:
            field.child = self.struct(type.struct, field.child, step)
        return 0

    cdef int make_holes(self, tw_chosen *chosen, const tw_field *field, object step, object item) except -1:
        """Set `chosen.holes`: the values that a field's columns get if a message does not contain the field."""
        cdef tw_hole *holes = <tw_hole *>self.memory(len(step.columns) * sizeof(tw_hole))
        chosen.holes = holes
        if step.column is not None and not step.each:
            holes[0].column = step.column
            holes[0].field = field
            chosen.holes_count = 1
        elif not chosen.has_row:
            self.hole(holes, &chosen.holes_count, step, item.default_value())
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

    def read(self, bytes data, offset, limits):
        """Return the rows of the message from `offset` to the end of `data`, or None if C can't read it."""
        return self.rows(data, offset, limits, NULL)

    def rewrite(self, bytes data, offset, limits, change):
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

    cdef list rows(self, bytes data, object offset, object limits, int64_t **marks):
        """Return the rows. If `marks` isn't NULL, store the values' positions (see collect.h), which the caller frees."""
        cdef tw_collect c
        cdef tw_walk w
        cdef list path = []
        cdef list rows = []
        cdef int failed
        memset(&w, 0, sizeof(w))
        memset(&c, 0, sizeof(c))
        if type(offset) is not int or not 0 <= offset <= len(data) or not start_walk(&w, data, offset, limits):
            return None
        if w.depth < self.plan.depth:  # whole values are read without checking the nesting depth
            self.plan.reject(data, offset, True, limits)
        w.depth = INT64_MAX
        w.r.shared = &SHARED
        w.path = w.open = <PyObject *>path
        w.c = &c
        c.rows = <PyObject *>rows
        c.width = self.width
        c.marking = marks != NULL
        failed = tw_collect_message(self.root, &w, self.whole)
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
