"""Every constant that is there for speed or memory alone: none of them changes a result."""

# Blocks and caches, in bytes or numbers.
BLOCK_BYTES = 32 * 2**20  # temporaries of one block of samples: large enough for BLAS
DEVICE_BYTES = 256 * 2**20  # the same on another device, where a call takes longer
KEPT_BYTES = 64 * 2**20  # centred samples that are kept between rounds
STACK_BYTES = 2**27  # projected samples of a stack of models
CACHE_BYTES = 2**19  # of one matrix per model, of models that are solved together
TILE = 256  # rows of a square of a matrix that is copied across its diagonal at once
CACHE_NUMBERS = 2**19  # between two products of a block of samples and models
STACK_NUMBERS = 2**26  # largest stack of mode scatters solved together
THREAD_BYTES = 8 * 2**20  # of the samples that a thread takes at a time
LARGEST_CHUNK = 2**30  # a chunk of a store up to this size is read whole
LARGEST_JOINED = 2**28  # to which small chunks of a Dask array are joined at most
KEPT_MOMENTS = 2**16  # moments that a fitted model keeps because they are small
MEMORY_BUDGET = 4 * 2**30  # that tables may take, unless the user says otherwise

# The cost model, in flops.
EXPECTED_ROUNDS = 10  # of an alternation that stops when it has converged
THIN = 16  # columns of a product that take as long as fewer
READ = 16  # models that one reading of a table could answer
TURN = 100  # while one number of a sample is centred and turned
PACK = 300  # while one number of a table is made symmetric and packed
ADDING = 20  # samples that are read while one table is added to another
SAMPLES_PER_TABLE = 4  # bytes of samples, if chunks are small, for each byte of their moments

# Sums.
SHIFT_ROWS = 64  # samples whose median is the shift of their class
PROBE_ROWS = 512  # samples that at most decide whether products of a block may be float32

# Who does what at once.
FEW = 4  # matrices of a stack for which one call each is faster than products for all
WHOLE_TABLE = 2048  # numbers of a sample up to which its scatter is made before it is packed
SMALL = 256  # rows of a matrix up to which LAPACK gains nothing from threads
MEDIUM = 512  # rows up to which decompositions, one after another, lose by threads
FAN_IN = 4  # sums that one task of a cluster adds up
WATCHED_SECONDS = 2.0  # between two looks at the workers of a cluster
PAUSED_SECONDS = 120.0  # that all workers may be paused or gone before a sum is given up
LOST_WORKERS = 100  # that a computation survives, or ten times as many as there were at its start
PROBED_TOGETHER = 16  # blocks read at once when looking for one that cannot be read
