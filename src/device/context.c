/* The public context: a device, a monitor, the threads. */
#include "base/memory.h"
#include "device/device.h"

facet_status facet_context_create(const char *device, facet_context **context) {
    REQUIRE(context);
    facet_status status = FACET_OK;
    const struct device *found;
    *context = NULL;
    TRY(base_check_stack());
    TRY(device_find(device, &found));
    TRY(CALLOC(*context, 1));
    (*context)->device = found;
    base_owner_init(&(*context)->owner);
done:
    return status;
}

void facet_context_destroy(facet_context **context) {
    if (context == NULL) return;
    if (*context != NULL) device_settle((*context)->device); /* no thread of ours outlives it */
    if (*context != NULL && (*context)->release != NULL) (*context)->release(*context);
    base_free(context);
}

facet_status facet_context_set_threads(facet_context *context, int n) {
    REQUIRE(context);
    if (n < 0 || n > BASE_MAX_THREADS)
        return base_fail(FACET_ERROR_INPUT, "%d threads were asked for; 1 to %d, or 0 for all", n,
                         BASE_MAX_THREADS);
    atomic_store(&context->owner.threads, n);
    return FACET_OK;
}

int facet_context_threads(const facet_context *context) {
    int n = context != NULL && BASE_HAS_OPENMP ? atomic_load(&context->owner.threads) : 0;
    return n > 0 ? n : base_threads();
}

void facet_context_interrupt(facet_context *context) {
    if (context != NULL) base_owner_interrupt(&context->owner);
}

/* A thread that starts the device has a processor of its own, or all others would wait for the one that
 * shares it. */
void context_call_begin(struct facet_context *context, int threads, struct base_call *call) {
    if (threads == 0 && device_is_starting(context->device)) {
        const int all = facet_context_threads(context);
        threads = all > 2 ? all - 1 : all;
    }
    base_call_begin(call, &context->owner, &context->monitor, threads);
    call->team = context->at_work;
    team_enter(call->team);
}

facet_status context_call_end(const struct facet_context *context, struct base_call *call,
                              facet_status status) {
    facet_status device = device_check(context->device);
    return base_call_end(call, team_leave(call->team, device != FACET_OK ? device : status));
}

const char *facet_context_device(const facet_context *context) {
    return context != NULL ? device_name(context->device) : "none";
}

facet_status facet_device_alloc(facet_context *context, size_t bytes, void **pointer) {
    REQUIRE(context, pointer);
    return device_alloc(context->device, pointer, bytes, 1);
}

void facet_device_free(facet_context *context, void **pointer) {
    if (context != NULL && pointer != NULL) device_free(context->device, pointer);
}

/* Whether a caller's pointer is where it should be. */
static facet_status check_place(const struct device *device, const void *there, const void *here,
                                size_t bytes) {
    if (bytes == 0) return FACET_OK;
    if (there == NULL || here == NULL)
        return base_fail(FACET_ERROR_INPUT, "a copy from or to NULL; allocate with facet_device_alloc");
    if (!device_owns(device, there))
        return base_fail(FACET_ERROR_INPUT,
                         "an address that is not of the device '%s' was given as one of it",
                         device_name(device));
    if (!device_holds(device, there, bytes))
        return base_fail(FACET_ERROR_INPUT,
                         "a copy of %zu bytes goes beyond the end of an array of the device '%s'", bytes,
                         device_name(device));
    if (device_hides(device, here))
        return base_fail(FACET_ERROR_INPUT, "an address of the device '%s' was given as one of the host",
                         device_name(device));
    return FACET_OK;
}

facet_status facet_device_write(facet_context *context, void *to, const void *from_host, size_t bytes) {
    REQUIRE(context);
    facet_status status = check_place(context->device, to, from_host, bytes);
    if (status == FACET_OK) status = device_upload(context->device, to, from_host, bytes);
    return status == FACET_OK ? device_check(context->device) : status;
}

facet_status facet_device_read(facet_context *context, void *to_host, const void *from, size_t bytes) {
    REQUIRE(context);
    facet_status status = check_place(context->device, from, to_host, bytes);
    return status == FACET_OK ? device_download(context->device, to_host, from, bytes) : status;
}

void facet_context_set_monitor(facet_context *context, facet_monitor monitor, void *user) {
    if (context != NULL) context->monitor = (struct base_monitor){monitor, user};
}

const char *facet_phase_name(facet_phase phase) {
    static const char *const names[FACET_N_PHASES] = {
        [FACET_PHASE_MESH] = "mesh",         [FACET_PHASE_CONDENSE] = "condense",
        [FACET_PHASE_ASSEMBLE] = "assemble", [FACET_PHASE_SETUP] = "setup",
        [FACET_PHASE_LOAD] = "load",         [FACET_PHASE_SOLVE] = "solve",
        [FACET_PHASE_RECOVER] = "recover",   [FACET_PHASE_POSTPROCESS] = "postprocess",
        [FACET_PHASE_MEASURE] = "measure",   [FACET_PHASE_OUTPUT] = "output"};
    return phase >= 0 && phase < FACET_N_PHASES ? names[phase] : "?";
}

const char *facet_message(void) {
    return base_message();
}

const char *facet_version(void) {
    return FACET_VERSION;
}
