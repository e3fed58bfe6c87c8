#include "columns/column_export.h"

static void tw_release_schema(struct ArrowSchema *schema)
{
    for (int64_t index = 0; index < schema->n_children && schema->children != NULL; index++) {
        struct ArrowSchema *child = schema->children[index];
        if (child != NULL && child->release != NULL)
            child->release(child);
        tw_free(child);
    }
    if (schema->dictionary != NULL && schema->dictionary->release != NULL)
        schema->dictionary->release(schema->dictionary);
    tw_free(schema->dictionary);
    tw_free(schema->children);
    tw_free((void *)schema->format);
    tw_free((void *)schema->name);
    schema->release = NULL;
}

static char *tw_copy_text(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = tw_realloc(NULL, size);
    if (copy != NULL)
        memcpy(copy, text, size);
    return copy;
}

int tw_make_schema(struct ArrowSchema *schema, const char *format, const char *name, int64_t flags, int64_t children)
{
    memset(schema, 0, sizeof *schema);
    schema->release = tw_release_schema;
    schema->flags = flags;
    schema->format = tw_copy_text(format);
    schema->name = tw_copy_text(name);
    schema->children = tw_zeroed((size_t)children, sizeof *schema->children);
    if (schema->format == NULL || schema->name == NULL || schema->children == NULL)
        goto error;
    for (; schema->n_children < children; schema->n_children++) {
        schema->children[schema->n_children] = tw_zeroed(1, sizeof *schema);
        if (schema->children[schema->n_children] == NULL)
            goto error;
    }
    return 0;
error:
    tw_release_schema(schema);
    return TW_NO_MEMORY;
}

int tw_make_dictionary_schema(struct ArrowSchema *schema)
{
    schema->dictionary = tw_zeroed(1, sizeof *schema);
    if (schema->dictionary != NULL && tw_make_schema(schema->dictionary, "u", "", 0, 0) == 0)
        return 0;
    tw_release_schema(schema);
    return TW_NO_MEMORY;
}

typedef struct {
    tw_frame *frame;
    const void *buffers[3];
} tw_exported;

static void tw_release_array(struct ArrowArray *array)
{
    tw_exported *exported = array->private_data;
    for (int64_t index = 0; index < array->n_children; index++) {
        struct ArrowArray *child = array->children[index];
        if (child != NULL && child->release != NULL)
            child->release(child);
        tw_free(child);
    }
    if (array->dictionary != NULL && array->dictionary->release != NULL)
        array->dictionary->release(array->dictionary);
    tw_free(array->dictionary);
    tw_free(array->children);
    tw_drop_frame(exported->frame);
    tw_free(exported);
    array->release = NULL;
}

static int64_t tw_children_count(const tw_frame *frame, int32_t column)
{
    int64_t count = 0;
    for (int32_t child = column + 1; child < frame->columns[column].end; child = frame->columns[child].end)
        count++;
    return count;
}

int tw_export_array(tw_frame *frame, int32_t column, struct ArrowArray *array)
{
    static const uint8_t buffers_count[] = {2, 2, 3, 2, 1};
    const tw_column *c = frame->columns + column;
    const tw_buffers *b = frame->buffers + column;
    int64_t children = tw_children_count(frame, column);
    tw_exported *exported;
    memset(array, 0, sizeof *array);
    exported = tw_zeroed(1, sizeof *exported);
    array->children = tw_zeroed((size_t)children, sizeof *array->children);
    if (exported == NULL || array->children == NULL) {
        tw_free(exported);
        tw_free(array->children);
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
    for (int32_t child = column + 1; child < c->end; child = frame->columns[child].end) {
        struct ArrowArray *child_array = tw_zeroed(1, sizeof *child_array);
        array->children[array->n_children++] = child_array;
        if (child_array == NULL || tw_export_array(frame, child, child_array) < 0) {
            tw_release_array(array);
            return TW_NO_MEMORY;
        }
    }
    if (frame->dictionaries[column] == NULL)
        return 0;
    array->dictionary = tw_zeroed(1, sizeof *array);
    if (array->dictionary != NULL && tw_export_array(frame->dictionaries[column], 0, array->dictionary) == 0)
        return 0;
    tw_release_array(array);
    return TW_NO_MEMORY;
}

int tw_append_child(struct ArrowArray *array, int64_t kept, struct ArrowArray *child)
{
    struct ArrowArray *added = tw_zeroed(1, sizeof *added), **children;
    for (; array->n_children > kept; array->n_children--) {
        struct ArrowArray *last = array->children[array->n_children - 1];
        last->release(last);
        tw_free(last);
    }
    children = tw_realloc(array->children, (size_t)(kept + 1) * sizeof *children);
    if (children != NULL)
        array->children = children;
    if (added == NULL || children == NULL) {
        tw_free(added);
        child->release(child);
        array->release(array);
        return TW_NO_MEMORY;
    }
    *added = *child;
    array->children[array->n_children++] = added;
    return 0;
}
