#include "columns/column_export.h"

static void tw_release_schema(struct ArrowSchema *schema)
{
    for (int64_t index = 0; index < schema->n_children; index++)
        if (schema->children[index]->release != NULL)
            schema->children[index]->release(schema->children[index]);
    if (schema->dictionary != NULL && schema->dictionary->release != NULL)
        schema->dictionary->release(schema->dictionary);
    tw_free(schema->children);
    schema->release = NULL;
}

int tw_make_schema(
    struct ArrowSchema *schema, const char *format, const char *name, int64_t flags, int64_t children, int is_dictionary)
{
    size_t format_size = strlen(format) + 1, name_size = strlen(name) + 1;
    struct ArrowSchema *inner;
    memset(schema, 0, sizeof *schema);
    /* the pointers to the children, the children, the dictionary's schema, the format and the name */
    schema->children = tw_zeroed(1, (size_t)(children + 1) * (sizeof schema + sizeof *schema) + format_size + name_size);
    if (schema->children == NULL)
        return TW_NO_MEMORY;
    inner = (struct ArrowSchema *)(schema->children + children + 1);
    for (; schema->n_children < children; schema->n_children++)
        schema->children[schema->n_children] = inner++;
    schema->format = memcpy(inner + 1, format, format_size);
    schema->name = memcpy((char *)(inner + 1) + format_size, name, name_size);
    schema->flags = flags;
    schema->release = tw_release_schema;
    if (!is_dictionary)
        return 0;
    schema->dictionary = inner;
    if (tw_make_schema(inner, "u", "", 0, 0, 0) == 0)
        return 0;
    tw_release_schema(schema);
    return TW_NO_MEMORY;
}

/* The memory of an exported array. The pointers to its children, the children, and its dictionary follow. */
typedef struct {
    tw_frame *frame;
    const void *buffers[3];
} tw_exported;

static void tw_release_array(struct ArrowArray *array)
{
    tw_exported *exported = array->private_data;
    for (int64_t index = 0; index < array->n_children; index++)
        if (array->children[index]->release != NULL)
            array->children[index]->release(array->children[index]);
    if (array->dictionary != NULL && array->dictionary->release != NULL)
        array->dictionary->release(array->dictionary);
    tw_drop_frame(exported->frame);
    tw_free(exported);
    array->release = NULL;
}

int tw_export_array(tw_frame *frame, int32_t column, struct ArrowArray *array, int64_t kept, struct ArrowArray *added)
{
    static const uint8_t buffers_count[] = {2, 2, 3, 2, 1};
    const tw_column *c = frame->columns + column;
    const tw_buffers *b = frame->buffers + column;
    struct ArrowArray *inner;
    tw_exported *exported;
    int32_t child = column + 1;
    int error = 0;
    if (added == NULL)
        for (kept = 0; child < c->end; child = frame->columns[child].end)
            kept++;
    memset(array, 0, sizeof *array);
    exported = tw_zeroed(1, sizeof *exported + (size_t)(kept + 2) * (sizeof *array->children + sizeof *array));
    if (exported == NULL) {
        if (added != NULL)
            added->release(added);
        return TW_NO_MEMORY;
    }
    tw_hold(frame);
    exported->frame = frame;
    exported->buffers[0] = b->nulls ? b->valid : NULL;
    exported->buffers[1] = b->values;
    exported->buffers[2] = b->data != NULL ? b->data : b->values; /* some consumers reject NULL even for 0 bytes */
    array->private_data = exported;
    array->release = tw_release_array;
    array->buffers = exported->buffers;
    array->n_buffers = buffers_count[c->kind];
    array->length = frame->levels[c->level].length;
    array->null_count = b->nulls;
    array->children = (struct ArrowArray **)(exported + 1);
    array->n_children = kept + (added != NULL);
    inner = (struct ArrowArray *)(array->children + array->n_children);
    for (int64_t index = 0; index < array->n_children; index++)
        array->children[index] = inner + index; /* zeroed, which means released */
    if (added != NULL)
        inner[kept] = *added;
    child = column + 1;
    for (int64_t index = 0; index < kept && error == 0; index++, child = frame->columns[child].end)
        error = tw_export_array(frame, child, inner + index, 0, NULL);
    if (error == 0 && frame->dictionaries[column] != NULL) {
        array->dictionary = inner + array->n_children;
        error = tw_export_array(frame->dictionaries[column], 0, array->dictionary, 0, NULL);
    }
    if (error < 0)
        tw_release_array(array);
    return error;
}
