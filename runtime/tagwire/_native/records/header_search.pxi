# Search damaged files for batch headers.

cdef enum:
    FORMS = 8
    CHUNK = 1 << 18  # number of bytes to read at once when computing checksums
    PAGE = 1 << 12  # maximum size of `page`, a cached part of the file

ctypedef struct Form:
    int64_t length_at, least, magic_after_length, sum_at, sum_begin
    bint is_varint, is_zigzag, counts_itself
    int magic, algorithm  # `algorithm`: index into `HeaderSearch.sums`, or -1 if the format has no checksum


@final
cdef class HeaderSearch:
    """Searches a file for positions of batches whose length, magic byte and checksum are valid.

    Verifying a checksum takes the same time for any length (range_sums.h), so false lengths don't slow the search down.

    `forms` is a list of tuples. Each tuple describes the batch header of a record format:
    `length_at`: offset of the length field in the batch
    `is_varint`, `is_zigzag`: how the length is encoded
    `counts_itself`: whether the length includes the bytes of the length field
    `least`: minimum value of the length
    `magic_after_length`: offset of the magic byte from the end of the length field
    `magic`: value of the magic byte
    `polynomial`: the checksum's polynomial, or 0 if the format has no checksum
    `sum_at`, `sum_begin`: offsets of the checksum and of the first checksummed byte from the end of the length field
    """

    cdef object data
    cdef int64_t size
    cdef Form forms[FORMS]
    cdef int count
    cdef tw_sums sums[2]
    cdef uint32_t *before[2]
    cdef int64_t known[2]  # for each polynomial: how many entries of `before` have been computed
    cdef bytes page
    cdef int64_t page_start

    def __cinit__(self, data, list forms not None):
        cdef Form *form
        cdef uint32_t polynomial
        self.data, self.size, self.page, self.page_start = data, len(data), b"", 0
        if len(forms) > FORMS:
            raise ValueError(f"expected at most {FORMS} different forms of batch headers, got {len(forms)}")
        for given in forms:
            form = &self.forms[self.count]
            form.length_at, form.is_varint, form.is_zigzag, form.counts_itself, form.least, form.magic_after_length = given[:6]
            form.magic, polynomial, form.sum_at, form.sum_begin = given[6:]
            form.algorithm = -1 if not polynomial else polynomial != TW_CRC32C_POLYNOMIAL
            if polynomial and self.sums[form.algorithm].polynomial != polynomial:
                tw_prepare_sums(&self.sums[form.algorithm], polynomial)
            self.count += 1

    def __dealloc__(self):
        free(self.before[0])
        free(self.before[1])

    def next(self, bytes window not None, int64_t start, int64_t at, int64_t stop):
        """Return the first index from `at` up to `stop` in the window where a batch may begin, or -1 if none.

        `start` is the position of the window in the file. Batches with an offset of 2^56 or more are not found.
        """
        cdef const uint8_t *p = window
        cdef int64_t size = len(window)
        cdef int number
        while at < min(stop, size):
            if not p[at]:
                for number in range(self.count):
                    if self.fits(&self.forms[number], p, size, start, at):
                        return at
            at += 1
        return -1

    cdef bint fits(self, Form *form, const uint8_t *p, int64_t size, int64_t start, int64_t at) except -1:
        cdef int64_t after_length = at + form.length_at, length = 0, end, begin
        cdef uint64_t number = 0
        cdef int shift = 0
        if not form.is_varint:
            after_length += 4
            if after_length > size:
                return False
            length = <int32_t>big32(p + after_length - 4)
        else:
            while after_length < size and shift < 35:
                number |= <uint64_t>(p[after_length] & 0x7F) << shift
                after_length, shift = after_length + 1, shift + 7
                if p[after_length - 1] < 0x80:
                    break
            else:
                return False
            length = <int64_t>(number >> 1) ^ -<int64_t>(number & 1) if form.is_zigzag else <int64_t>number
        if after_length + form.magic_after_length >= size or p[after_length + form.magic_after_length] != form.magic or length < form.least:
            return False
        end = length + (at + form.length_at if form.counts_itself else after_length)
        begin = after_length + form.sum_begin
        if end + start > self.size:
            return False
        if form.algorithm < 0 or begin > end or after_length + form.sum_at + 4 > size:
            return True
        return self.sum_of(form.algorithm, p, size, start, begin, end) == big32(p + after_length + form.sum_at)

    cdef int64_t sum_of(self, int algorithm, const uint8_t *p, int64_t size, int64_t start, int64_t begin,
                        int64_t end) except -1:
        """Return the checksum of the file's bytes from `start + begin` to `start + end`."""
        cdef uint32_t before = self.before_byte(algorithm, p, size, start, begin)
        cdef uint32_t after = self.before_byte(algorithm, p, size, start, end)
        return tw_sum_between(&self.sums[algorithm], before, after, end - begin)

    cdef int64_t before_byte(self, int algorithm, const uint8_t *p, int64_t size, int64_t start,
                             int64_t at) except -1:
        """Return the CRC of all bytes before file position `start + at`. `p` is the window at `start`."""
        cdef int64_t block = (start + at) // TW_SUM_BLOCK
        cdef int64_t first = block * TW_SUM_BLOCK, end = start + at
        cdef const uint8_t *known = p + first - start
        if block >= self.known[algorithm]:
            self.learn(algorithm, block)
        if first < start or at > size:
            if first < self.page_start or end > self.page_start + len(self.page):
                self.page_start = first
                self.page = self.data[first:min(first + PAGE, self.size)]
            if len(self.page) < end - self.page_start:
                raise ValueError("the file was truncated during the search for batch headers")
            known = <const uint8_t *>PyBytes_AsString(self.page) + first - self.page_start
        return tw_extended(&self.sums[algorithm], self.before[algorithm][block], known, end - first)

    cdef int learn(self, int algorithm, int64_t block) except -1:
        """Extend the array `before` to entry `block`. Entry N is the CRC of all bytes before block N of the file."""
        cdef bytes data
        cdef const uint8_t *p
        cdef int64_t at, known = self.known[algorithm]
        cdef uint32_t *before = <uint32_t *>realloc(self.before[algorithm], (block + CHUNK // TW_SUM_BLOCK + 2) * 4)
        if before == NULL:
            raise MemoryError
        self.before[algorithm] = before
        if not known:
            before[0], known = 0, 1
        while known <= block:
            at = (known - 1) * TW_SUM_BLOCK
            data = self.data[at:min(at + CHUNK, self.size)]
            p = data
            for at in range(len(data) // TW_SUM_BLOCK):
                before[known] = tw_extended(&self.sums[algorithm], before[known - 1], p + at * TW_SUM_BLOCK, TW_SUM_BLOCK)
                known += 1
            if len(data) < TW_SUM_BLOCK:
                raise ValueError("the file was truncated during the search for batch headers")
        self.known[algorithm] = known
        return 0


cdef inline uint32_t big32(const uint8_t *p):
    return <uint32_t>p[0] << 24 | <uint32_t>p[1] << 16 | <uint32_t>p[2] << 8 | p[3]
