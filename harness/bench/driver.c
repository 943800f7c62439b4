/* A client at the limit: produces or consumes through librdkafka and prints one JSON object about it.
 *
 * Python's binding spends more on a message than a broker does, so a measurement through it would measure the client. This
 * is the same library without the binding. The few declarations below are librdkafka's stable C interface: the wheel that
 * brings the library brings no header.
 *
 *   driver produce brokers=H:P,... topic=T partitions=N size=S count=C seconds=X rate=R deliveries=FILE timeout=X conf.NAME=VALUE ...
 *   driver consume brokers=H:P,... topic=T partitions=N count=C timeout=X conf.NAME=VALUE ...
 *
 * rate=0 sends as fast as the library takes messages; otherwise message i is due at i/rate seconds and its latency counts from
 * then, whether or not the library took it in time: a stall delays everybody behind it and must show. The deliveries file holds
 * three native 64-bit integers a message: due and acknowledged in microseconds of CLOCK_MONOTONIC, and the error (0: none).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

typedef struct rd_kafka_s rd_kafka_t;
typedef struct rd_kafka_topic_s rd_kafka_topic_t;
typedef struct rd_kafka_conf_s rd_kafka_conf_t;
typedef struct rd_kafka_topic_conf_s rd_kafka_topic_conf_t;
typedef struct rd_kafka_queue_s rd_kafka_queue_t;
typedef struct rd_kafka_metadata rd_kafka_metadata_t;

typedef struct {
    int err;
    rd_kafka_topic_t *topic;
    int32_t partition;
    void *payload;
    size_t len;
    void *key;
    size_t key_len;
    int64_t offset;
    void *opaque;
} rd_kafka_message_t;

enum { RD_KAFKA_PRODUCER = 0, RD_KAFKA_CONSUMER = 1 };
enum { OFFSET_BEGINNING = -2, ERR_QUEUE_FULL = -184, ERR_PARTITION_EOF = -191 };

rd_kafka_conf_t *rd_kafka_conf_new(void);
int rd_kafka_conf_set(rd_kafka_conf_t *, const char *, const char *, char *, size_t);
void rd_kafka_conf_set_dr_msg_cb(rd_kafka_conf_t *, void (*)(rd_kafka_t *, const rd_kafka_message_t *, void *));
rd_kafka_t *rd_kafka_new(int, rd_kafka_conf_t *, char *, size_t);
rd_kafka_topic_t *rd_kafka_topic_new(rd_kafka_t *, const char *, rd_kafka_topic_conf_t *);
int rd_kafka_produce(rd_kafka_topic_t *, int32_t, int, void *, size_t, const void *, size_t, void *);
int rd_kafka_last_error(void);
const char *rd_kafka_err2name(int);
int rd_kafka_poll(rd_kafka_t *, int);
int rd_kafka_metadata(rd_kafka_t *, int, rd_kafka_topic_t *, const rd_kafka_metadata_t **, int);
void rd_kafka_metadata_destroy(const rd_kafka_metadata_t *);
rd_kafka_queue_t *rd_kafka_queue_new(rd_kafka_t *);
int rd_kafka_consume_start_queue(rd_kafka_topic_t *, int32_t, int64_t, rd_kafka_queue_t *);
ssize_t rd_kafka_consume_batch_queue(rd_kafka_queue_t *, int, rd_kafka_message_t **, size_t);
void rd_kafka_message_destroy(rd_kafka_message_t *);

typedef struct {
    const char *brokers, *topic, *deliveries;
    int partitions;
    size_t size;
    int64_t count;
    double seconds, rate, timeout;
} task_t;

typedef struct {
    int64_t due, acked, error;
} delivery_t;

/* Acknowledgements are taken by a thread of their own, so that their time is theirs and not that of the next message's turn. */
static _Atomic int64_t settled;
static int64_t failed, last_ack; /* written before `settled` rises, read after */
static int first_error;
static delivery_t *deliveries;

static int64_t now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static double cpu_seconds(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

static void die(const char *what, const char *why) {
    fprintf(stderr, "driver: %s: %s\n", what, why);
    exit(1);
}

static void note_error(int error) {
    failed++;
    if (!first_error)
        first_error = error;
}

static void on_delivery(rd_kafka_t *client, const rd_kafka_message_t *message, void *unused) {
    (void)client, (void)unused;
    last_ack = now_us();
    if (message->err)
        note_error(message->err);
    if (deliveries && message->opaque) {
        delivery_t *delivery = &deliveries[(intptr_t)message->opaque - 1];
        delivery->acked = last_ack;
        delivery->error = message->err;
    }
    settled++;
}

static void *take_acknowledgements(void *client) {
    for (;;)
        rd_kafka_poll(client, 100);
    return NULL;
}

static void sleep_us(int64_t duration) {
    struct timespec wait = {.tv_sec = duration / 1000000, .tv_nsec = duration % 1000000 * 1000};
    nanosleep(&wait, NULL);
}

static void report(const char *mode, int64_t messages, int64_t bytes, int64_t warmup, int64_t started, int64_t ended, double cpu) {
    printf("{\"mode\": \"%s\", \"messages\": %" PRId64 ", \"bytes\": %" PRId64 ", \"warmup\": %" PRId64 ", \"seconds\": %.6f, "
           "\"cpu_seconds\": %.6f, \"errors\": %" PRId64 ", \"first_error\": \"%s\"}\n",
           mode, messages, bytes, warmup, (double)(ended - started) / 1e6, cpu, failed, first_error ? rd_kafka_err2name(first_error) : "");
}

static rd_kafka_topic_t *ready_topic(rd_kafka_t *client, const task_t *task) {
    const rd_kafka_metadata_t *metadata;
    rd_kafka_topic_t *topic = rd_kafka_topic_new(client, task->topic, NULL);
    if (!topic)
        die(task->topic, rd_kafka_err2name(rd_kafka_last_error()));
    int error = rd_kafka_metadata(client, 0, topic, &metadata, (int)(task->timeout * 1000));
    if (error)
        die("no metadata", rd_kafka_err2name(error));
    rd_kafka_metadata_destroy(metadata);
    return topic;
}

static void send_one(rd_kafka_topic_t *topic, int32_t partition, void *payload, size_t size, void *opaque) {
    while (rd_kafka_produce(topic, partition, 0, payload, size, NULL, 0, opaque) < 0) {
        if (rd_kafka_last_error() != ERR_QUEUE_FULL)
            die("not taken", rd_kafka_err2name(rd_kafka_last_error()));
        sleep_us(500);
    }
}

static void await_settled(int64_t count, int64_t deadline) {
    while (settled < count && now_us() < deadline)
        sleep_us(500);
}

static void write_deliveries(const char *path, int64_t count) {
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(deliveries, sizeof *deliveries, (size_t)count, file) != (size_t)count || fclose(file))
        die(path, strerror(errno));
}

static void produce(rd_kafka_t *client, const task_t *task) {
    rd_kafka_topic_t *topic = ready_topic(client, task);
    char *payload = malloc(task->size + 1);
    for (size_t i = 0; i < task->size; i++)
        payload[i] = (char)(i * 2654435761u >> 13);
    pthread_t poller;
    if (pthread_create(&poller, NULL, take_acknowledgements, client))
        die("no thread", strerror(errno));
    int64_t limit = now_us() + (int64_t)(task->timeout * 1e6);
    for (int p = 0; p < task->partitions; p++)
        send_one(topic, p, payload, task->size, NULL);
    await_settled(task->partitions, limit);
    if (settled < task->partitions || failed)
        die("warm-up failed", rd_kafka_err2name(first_error));
    settled = 0;

    deliveries = task->deliveries ? calloc((size_t)task->count, sizeof *deliveries) : NULL;
    double cpu = cpu_seconds();
    int64_t started = now_us(), stop = started + (int64_t)(task->seconds * 1e6), sent = 0;
    last_ack = started;
    for (; sent < task->count; sent++) {
        int64_t due = task->rate > 0 ? started + (int64_t)((double)sent * 1e6 / task->rate) : 0, now;
        if (due >= stop)
            break;
        while (due && (now = now_us()) < due)
            sleep_us(due - now);
        if (!due && (sent & 63) == 0 && now_us() >= stop)
            break;
        if (deliveries)
            deliveries[sent].due = due ? due : now_us();
        send_one(topic, (int32_t)(sent % task->partitions), payload, task->size, (void *)(intptr_t)(sent + 1));
    }
    await_settled(sent, limit + (int64_t)(task->seconds * 1e6));
    for (int64_t missing = settled; missing < sent; missing++)
        note_error(-185);
    int64_t delivered = sent - failed;
    report("produce", delivered, delivered * (int64_t)task->size, task->partitions, started, last_ack, cpu_seconds() - cpu);
    if (deliveries)
        write_deliveries(task->deliveries, sent);
}

static void consume(rd_kafka_t *client, const task_t *task) {
    enum { BATCH = 10000 };
    static rd_kafka_message_t *messages[BATCH];
    rd_kafka_topic_t *topic = ready_topic(client, task);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(client);
    double cpu = cpu_seconds();
    int64_t started = now_us(), ended = started, limit = started + (int64_t)(task->timeout * 1e6), count = 0, bytes = 0;
    for (int p = 0; p < task->partitions; p++)
        if (rd_kafka_consume_start_queue(topic, p, OFFSET_BEGINNING, queue) < 0)
            die("not started", rd_kafka_err2name(rd_kafka_last_error()));
    while (count < task->count && now_us() < limit) {
        ssize_t got = rd_kafka_consume_batch_queue(queue, 20, messages, BATCH);
        for (ssize_t i = 0; i < got; i++) {
            if (!messages[i]->err) {
                count++;
                bytes += (int64_t)messages[i]->len;
            } else if (messages[i]->err != ERR_PARTITION_EOF) {
                note_error(messages[i]->err);
            }
            rd_kafka_message_destroy(messages[i]);
        }
        if (got > 0)
            ended = now_us();
    }
    report("consume", count, bytes, 0, started, ended, cpu_seconds() - cpu);
}

static const char *value_of(const char *argument, const char *name) {
    size_t length = strlen(name);
    return strncmp(argument, name, length) == 0 && argument[length] == '=' ? argument + length + 1 : NULL;
}

static void read_argument(task_t *task, rd_kafka_conf_t *conf, char *argument) {
    const char *value;
    char problem[256];
    if ((value = value_of(argument, "brokers")))
        task->brokers = value;
    else if ((value = value_of(argument, "topic")))
        task->topic = value;
    else if ((value = value_of(argument, "deliveries")))
        task->deliveries = value;
    else if ((value = value_of(argument, "partitions")))
        task->partitions = atoi(value);
    else if ((value = value_of(argument, "size")))
        task->size = (size_t)atoll(value);
    else if ((value = value_of(argument, "count")))
        task->count = atoll(value);
    else if ((value = value_of(argument, "seconds")))
        task->seconds = atof(value);
    else if ((value = value_of(argument, "rate")))
        task->rate = atof(value);
    else if ((value = value_of(argument, "timeout")))
        task->timeout = atof(value);
    else if (strncmp(argument, "conf.", 5) == 0 && strchr(argument, '=')) {
        *strchr(argument, '=') = '\0';
        if (rd_kafka_conf_set(conf, argument + 5, argument + strlen(argument) + 1, problem, sizeof problem))
            die(argument, problem);
    } else
        die("unknown argument", argument);
}

int main(int argc, char **argv) {
    char problem[256];
    task_t task = {.partitions = 1, .size = 100, .count = 1, .seconds = 1e6, .timeout = 60};
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    for (int i = 2; i < argc; i++)
        read_argument(&task, conf, argv[i]);
    int producing = argc > 1 && strcmp(argv[1], "produce") == 0;
    if (argc < 2 || (!producing && strcmp(argv[1], "consume")) || !task.brokers || !task.topic)
        die("usage", "driver produce|consume brokers=H:P topic=T ...");
    if (rd_kafka_conf_set(conf, "bootstrap.servers", task.brokers, problem, sizeof problem))
        die("brokers", problem);
    if (producing)
        rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
    rd_kafka_t *client = rd_kafka_new(producing ? RD_KAFKA_PRODUCER : RD_KAFKA_CONSUMER, conf, problem, sizeof problem);
    if (!client)
        die("no client", problem);
    if (producing)
        produce(client, &task);
    else
        consume(client, &task);
    fflush(stdout);
    _Exit(0); /* nothing is left to wait for, and closing a consumer takes longer than some measurements */
}
