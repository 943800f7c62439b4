/* A client at the limit: produces, consumes, or both at once, through librdkafka, and prints one JSON object about it.
 *
 * Python's binding spends more on a message than a broker does, so a measurement through it would measure the client. This
 * is the same library without the binding. The few declarations below are librdkafka's stable C interface: the wheel that
 * brings the library brings no header.
 *
 *   driver produce  brokers=H:P,... topic=T partitions=N size=S count=C seconds=X least=C rate=R producers=N replicated=1
 *                   payload=FILE deliveries=FILE timeout=X conf.NAME=VALUE ...
 *   driver consume  brokers=H:P,... topic=T partitions=N count=C consumers=N timeout=X conf.NAME=VALUE ...
 *   driver exchange as produce, with consumers=N that read what is written, and received=FILE
 *
 * rate=0 sends as fast as the library takes messages, for so many seconds and at least `least` messages; otherwise message i is due
 * at i/rate seconds and its latency counts from then, whether or not the library took it in time: a stall delays everybody behind
 * it and must show. The deliveries file holds three native 64-bit integers a message: due and acknowledged in microseconds of
 * CLOCK_MONOTONIC, and the error (0: none). The received file holds two: when the message was due and when a consumer had it; the
 * former travels in the message's first eight bytes. Messages are stretches of the payload file, one behind the other.
 *
 * replicated=1: afterwards it is asked, partition by partition, until every high watermark has passed what was written, which is
 * when every replica in sync has it; the topic must have been empty.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

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
enum { OFFSET_BEGINNING = -2, ERR_QUEUE_FULL = -184, ERR_MSG_TIMED_OUT = -192, ERR_PARTITION_EOF = -191, COPY = 2 };

rd_kafka_conf_t *rd_kafka_conf_new(void);
rd_kafka_conf_t *rd_kafka_conf_dup(const rd_kafka_conf_t *);
int rd_kafka_conf_set(rd_kafka_conf_t *, const char *, const char *, char *, size_t);
void rd_kafka_conf_set_opaque(rd_kafka_conf_t *, void *);
void rd_kafka_conf_set_dr_msg_cb(rd_kafka_conf_t *, void (*)(rd_kafka_t *, const rd_kafka_message_t *, void *));
rd_kafka_t *rd_kafka_new(int, rd_kafka_conf_t *, char *, size_t);
rd_kafka_topic_t *rd_kafka_topic_new(rd_kafka_t *, const char *, rd_kafka_topic_conf_t *);
int rd_kafka_produce(rd_kafka_topic_t *, int32_t, int, void *, size_t, const void *, size_t, void *);
int rd_kafka_last_error(void);
const char *rd_kafka_err2name(int);
int rd_kafka_poll(rd_kafka_t *, int);
int rd_kafka_metadata(rd_kafka_t *, int, rd_kafka_topic_t *, const rd_kafka_metadata_t **, int);
void rd_kafka_metadata_destroy(const rd_kafka_metadata_t *);
int rd_kafka_query_watermark_offsets(rd_kafka_t *, const char *, int32_t, int64_t *, int64_t *, int);
rd_kafka_queue_t *rd_kafka_queue_new(rd_kafka_t *);
int rd_kafka_consume_start_queue(rd_kafka_topic_t *, int32_t, int64_t, rd_kafka_queue_t *);
ssize_t rd_kafka_consume_batch_queue(rd_kafka_queue_t *, int, rd_kafka_message_t **, size_t);
void rd_kafka_message_destroy(rd_kafka_message_t *);

typedef struct {
    const char *brokers, *topic, *deliveries, *received, *payload;
    int partitions, producers, consumers, replicated;
    size_t size;
    int64_t count, least;
    double seconds, rate, timeout;
} task_t;

typedef struct {
    int64_t due, acked, error;
} delivery_t;

typedef struct {
    int64_t due, received;
} receipt_t;

typedef struct {
    int number;
    rd_kafka_t *client;
    rd_kafka_topic_t *topic;
    char *copy; /* where a message is stamped, in an exchange */
    int64_t sent, blocked;
    _Atomic int64_t settled, last_ack;
    pthread_t thread;
} producer_t;

typedef struct {
    int number;
    rd_kafka_t *client;
    rd_kafka_topic_t *topic;
    rd_kafka_queue_t *queue;
    int64_t bytes, rows, ended;
    receipt_t *receipts;
    pthread_t thread;
} consumer_t;

static task_t task = {.partitions = 1, .producers = 1, .consumers = 1, .size = 100, .count = 1, .seconds = 1e6, .timeout = 60};
static rd_kafka_conf_t *settings;
static char *pool;
static size_t pool_size;
static producer_t *producers;
static consumer_t *consumers;
static delivery_t *deliveries;
static int64_t started;
static _Atomic int64_t failed, consumed;
static _Atomic int first_error;
static atomic_int reading = 1;

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

/* CPU time of the thread that used most: a client whose thread is never idle is what is being measured. */
static double busiest_thread_seconds(void) {
    DIR *threads = opendir("/proc/self/task");
    double most = 0;
    for (struct dirent *entry; threads && (entry = readdir(threads));) {
        char path[300];
        long user = 0, system = 0;
        snprintf(path, sizeof path, "/proc/self/task/%s/stat", entry->d_name);
        FILE *file = fopen(path, "r");
        if (!file)
            continue;
        if (fscanf(file, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld", &user, &system) == 2) {
            double used = (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
            most = used > most ? used : most;
        }
        fclose(file);
    }
    if (threads)
        closedir(threads);
    return most;
}

static void die(const char *what, const char *why) {
    fprintf(stderr, "driver: %s: %s\n", what, why);
    exit(1);
}

static void *room_for(int64_t count, size_t size) {
    void *room = calloc((size_t)(count > 0 ? count : 1), size);
    if (!room)
        die("no memory", strerror(errno));
    return room;
}

static void note_error(int error) {
    int none = 0;
    failed++;
    atomic_compare_exchange_strong(&first_error, &none, error);
}

static void sleep_us(int64_t duration) {
    struct timespec wait = {.tv_sec = duration / 1000000, .tv_nsec = duration % 1000000 * 1000};
    nanosleep(&wait, NULL);
}

static void start_thread(pthread_t *thread, void *(*body)(void *), void *argument) {
    int error = pthread_create(thread, NULL, body, argument);
    if (error)
        die("no thread", strerror(error));
}

static rd_kafka_t *new_client(int kind, rd_kafka_conf_t *conf) {
    char problem[256];
    if (rd_kafka_conf_set(conf, "bootstrap.servers", task.brokers, problem, sizeof problem))
        die("brokers", problem);
    rd_kafka_t *client = rd_kafka_new(kind, conf, problem, sizeof problem);
    if (!client)
        die("no client", problem);
    return client;
}

static rd_kafka_topic_t *ready_topic(rd_kafka_t *client) {
    const rd_kafka_metadata_t *metadata;
    rd_kafka_topic_t *topic = rd_kafka_topic_new(client, task.topic, NULL);
    if (!topic)
        die(task.topic, rd_kafka_err2name(rd_kafka_last_error()));
    int error = rd_kafka_metadata(client, 0, topic, &metadata, (int)(task.timeout * 1000));
    if (error)
        die("no metadata", rd_kafka_err2name(error));
    rd_kafka_metadata_destroy(metadata);
    return topic;
}

static void on_delivery(rd_kafka_t *client, const rd_kafka_message_t *message, void *opaque) {
    producer_t *self = opaque;
    int64_t now = now_us();
    (void)client;
    self->last_ack = now;
    if (message->err)
        note_error(message->err);
    if (deliveries && message->opaque) {
        delivery_t *delivery = &deliveries[(intptr_t)message->opaque - 1];
        delivery->acked = now;
        delivery->error = message->err;
    }
    self->settled++;
}

static void *take_acknowledgements(void *client) {
    for (;;)
        rd_kafka_poll(client, 100);
    return NULL;
}

static void read_payload(void) {
    if (!task.payload) {
        pool = room_for(1, pool_size = task.size + 1);
        for (size_t i = 0; i < task.size; i++)
            pool[i] = (char)(i * 2654435761u >> 13);
        return;
    }
    FILE *file = fopen(task.payload, "rb");
    if (!file || fseek(file, 0, SEEK_END) || (pool_size = (size_t)ftell(file)) <= task.size || fseek(file, 0, SEEK_SET))
        die(task.payload, "cannot be read, or is no longer than a message");
    pool = room_for(1, pool_size);
    if (fread(pool, 1, pool_size, file) != pool_size || fclose(file))
        die(task.payload, strerror(errno));
}

/* `number`: of the message among all, from 1; 0: one of the warm-up. */
static void send_one(producer_t *self, int32_t partition, int64_t number, int64_t due) {
    char *payload = pool + (size_t)number * task.size % (pool_size - task.size);
    if (self->copy) {
        memcpy(self->copy, payload, task.size);
        memcpy(self->copy, &due, sizeof due);
        payload = self->copy;
    }
    int64_t waited = 0;
    while (rd_kafka_produce(self->topic, partition, self->copy ? COPY : 0, payload, task.size, NULL, 0, (void *)(intptr_t)number) < 0) {
        if (rd_kafka_last_error() != ERR_QUEUE_FULL)
            die("not taken", rd_kafka_err2name(rd_kafka_last_error()));
        waited = waited ? waited : now_us();
        sleep_us(500);
    }
    if (waited)
        self->blocked += now_us() - waited;
}

/* The producer's j-th message is the (j * producers + number)-th of all. */
static void *send_all(void *argument) {
    producer_t *self = argument;
    int64_t stop = started + (int64_t)(task.seconds * 1e6);
    prctl(PR_SET_TIMERSLACK, 1000UL);
    for (;; self->sent++) {
        int64_t number = self->sent * task.producers + self->number, now;
        int64_t due = task.rate > 0 ? started + (int64_t)((double)number * 1e6 / task.rate) : 0;
        if (number >= task.count || due >= stop)
            break;
        while (due && (now = now_us()) < due)
            sleep_us(due - now);
        if (!due && (self->sent & 63) == 0 && now_us() >= stop && number >= task.least)
            break;
        if (deliveries)
            deliveries[number].due = due ? due : now_us();
        send_one(self, (int32_t)((self->sent + self->number) % task.partitions), number + 1, due);
    }
    return NULL;
}

static int64_t settled(void) {
    int64_t sum = 0;
    for (int i = 0; i < task.producers; i++)
        sum += producers[i].settled;
    return sum;
}

static void await_at_least(int64_t (*reached)(void), int64_t count, int64_t deadline) {
    while (reached() < count && now_us() < deadline)
        sleep_us(500);
}

static int64_t expected_in(int partition) {
    int64_t count = task.producers;
    for (int i = 0; i < task.producers; i++) {
        int64_t first = (partition - producers[i].number % task.partitions + task.partitions) % task.partitions;
        count += producers[i].sent > first ? (producers[i].sent - first - 1) / task.partitions + 1 : 0;
    }
    return count;
}

/* Returns when every high watermark is at the end; `behind` is what was missing when this began. */
static int64_t await_replicated(int64_t *behind, int64_t deadline) {
    for (int p = 0; p < task.partitions; p++) {
        int64_t low, high = 0, expected = expected_in(p);
        for (int first = 1; high < expected; first = 0) {
            int error = rd_kafka_query_watermark_offsets(producers[0].client, task.topic, p, &low, &high, (int)(task.timeout * 1000));
            if (error || now_us() > deadline)
                die("the replicas did not catch up", error ? rd_kafka_err2name(error) : task.topic);
            if (first)
                *behind += expected - high;
            if (high < expected)
                sleep_us(2000);
        }
    }
    return now_us();
}

static void write_rows(const char *path, const void *rows, size_t size, int64_t count) {
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(rows, size, (size_t)count, file) != (size_t)count || fclose(file))
        die(path, strerror(errno));
}

static void make_producers(int stamped) {
    producers = room_for(task.producers, sizeof *producers);
    for (int i = 0; i < task.producers; i++) {
        rd_kafka_conf_t *conf = rd_kafka_conf_dup(settings);
        pthread_t poller;
        rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
        rd_kafka_conf_set_opaque(conf, &producers[i]);
        producers[i].number = i;
        producers[i].client = new_client(RD_KAFKA_PRODUCER, conf);
        producers[i].topic = ready_topic(producers[i].client);
        producers[i].copy = stamped ? room_for(1, task.size) : NULL;
        start_thread(&poller, take_acknowledgements, producers[i].client);
    }
}

static void warm_up(int64_t deadline) {
    for (int i = 0; i < task.producers; i++)
        for (int p = 0; p < task.partitions; p++)
            send_one(&producers[i], p, 0, 0);
    await_at_least(settled, (int64_t)task.producers * task.partitions, deadline);
    if (settled() < (int64_t)task.producers * task.partitions || failed)
        die("warm-up failed", rd_kafka_err2name(first_error));
    for (int i = 0; i < task.producers; i++)
        producers[i].settled = producers[i].blocked = 0;
}

static int64_t received(void) { return consumed; }

static void take(consumer_t *self, const rd_kafka_message_t *message, int64_t now) {
    if (message->err) {
        if (message->err != ERR_PARTITION_EOF)
            note_error(message->err);
        return;
    }
    consumed++;
    self->bytes += (int64_t)message->len;
    self->ended = now;
    if (self->receipts && message->len >= sizeof(int64_t)) {
        memcpy(&self->receipts[self->rows].due, message->payload, sizeof(int64_t));
        self->receipts[self->rows].received = now;
        self->rows += self->receipts[self->rows].due != 0; /* the warm-up has no time */
    }
}

static void *receive_all(void *argument) {
    enum { BATCH = 10000 };
    consumer_t *self = argument;
    rd_kafka_message_t **messages = room_for(BATCH, sizeof *messages);
    for (int p = self->number; p < task.partitions; p += task.consumers)
        if (rd_kafka_consume_start_queue(self->topic, p, OFFSET_BEGINNING, self->queue) < 0)
            die("not started", rd_kafka_err2name(rd_kafka_last_error()));
    while (reading) {
        ssize_t got = rd_kafka_consume_batch_queue(self->queue, 20, messages, self->receipts ? 1 : BATCH);
        int64_t now = now_us();
        for (ssize_t i = 0; i < got; i++) {
            take(self, messages[i], now);
            rd_kafka_message_destroy(messages[i]);
        }
    }
    return NULL;
}

static void make_consumers(rd_kafka_conf_t *conf, int64_t receipts) {
    consumers = room_for(task.consumers, sizeof *consumers);
    for (int i = 0; i < task.consumers; i++) {
        consumers[i].number = i;
        consumers[i].client = new_client(RD_KAFKA_CONSUMER, rd_kafka_conf_dup(conf));
        consumers[i].topic = ready_topic(consumers[i].client);
        consumers[i].queue = rd_kafka_queue_new(consumers[i].client);
        consumers[i].receipts = receipts ? room_for(receipts, sizeof(receipt_t)) : NULL;
    }
    started = now_us();
    for (int i = 0; i < task.consumers; i++)
        start_thread(&consumers[i].thread, receive_all, &consumers[i]);
}

static void end_consumers(void) {
    reading = 0;
    for (int i = 0; i < task.consumers; i++)
        pthread_join(consumers[i].thread, NULL);
}

static void write_receipts(void) {
    int64_t count = 0;
    receipt_t *all = room_for(consumed, sizeof *all);
    for (int i = 0; i < task.consumers; count += consumers[i++].rows)
        memcpy(all + count, consumers[i].receipts, (size_t)consumers[i].rows * sizeof *all);
    write_rows(task.received, all, sizeof *all, count);
}

static void report(const char *mode, int64_t messages, int64_t bytes, int64_t warmup, int64_t ended, double cpu) {
    printf("{\"mode\": \"%s\", \"messages\": %" PRId64 ", \"bytes\": %" PRId64 ", \"warmup\": %" PRId64 ", \"seconds\": %.6f, "
           "\"cpu_seconds\": %.6f, \"errors\": %" PRId64 ", \"first_error\": \"%s\", \"busiest_thread_seconds\": %.2f",
           mode, messages, bytes, warmup, (double)(ended - started) / 1e6, cpu, failed, first_error ? rd_kafka_err2name(first_error) : "",
           busiest_thread_seconds());
}

static void produce(int exchanging) {
    int64_t deadline = now_us() + (int64_t)((task.timeout + (task.rate > 0 || task.seconds < 1e5 ? task.seconds : 0)) * 1e6);
    int64_t sent = 0, blocked = 0, behind = 0, last_ack, warmup = (int64_t)task.producers * task.partitions;
    read_payload();
    make_producers(exchanging);
    if (exchanging)
        make_consumers(rd_kafka_conf_new(), task.count + warmup + 1);
    warm_up(deadline);
    if (exchanging)
        await_at_least(received, warmup, deadline);

    deliveries = task.deliveries ? room_for(task.count, sizeof *deliveries) : NULL;
    double cpu = cpu_seconds();
    last_ack = started = now_us();
    for (int i = 0; i < task.producers; i++)
        start_thread(&producers[i].thread, send_all, &producers[i]);
    for (int i = 0; i < task.producers; i++)
        pthread_join(producers[i].thread, NULL);
    for (int i = 0; i < task.producers; i++) {
        sent += producers[i].sent;
        blocked += producers[i].blocked;
    }
    int64_t sent_at = now_us();
    await_at_least(settled, sent, deadline);
    for (int64_t missing = settled(); missing < sent; missing++)
        note_error(ERR_MSG_TIMED_OUT);
    cpu = cpu_seconds() - cpu;
    for (int i = 0; i < task.producers; i++)
        last_ack = producers[i].last_ack > last_ack ? (int64_t)producers[i].last_ack : last_ack;
    int64_t delivered = sent - failed, replicated = task.replicated && !failed ? await_replicated(&behind, deadline) : started;
    if (exchanging) {
        await_at_least(received, warmup + delivered, deadline);
        end_consumers();
    }
    report(exchanging ? "exchange" : "produce", delivered, delivered * (int64_t)task.size, warmup, last_ack, cpu);
    int64_t waited = blocked / task.producers + (last_ack > sent_at ? last_ack - sent_at : 0);
    printf(", \"waited_seconds\": %.6f, \"behind\": %" PRId64 ", \"replicated_seconds\": %.6f, \"received\": %" PRId64 "}\n",
           (double)waited / 1e6, behind, (double)(replicated - started) / 1e6, consumed ? consumed - warmup : 0);
    if (deliveries) {
        int64_t rows = 0;
        for (int64_t i = 0; i < task.count; i++)
            if (deliveries[i].due)
                deliveries[rows++] = deliveries[i];
        write_rows(task.deliveries, deliveries, sizeof *deliveries, rows);
    }
    if (exchanging && task.received)
        write_receipts();
}

static void consume(void) {
    double cpu = cpu_seconds();
    int64_t deadline = now_us() + (int64_t)(task.timeout * 1e6), bytes = 0;
    make_consumers(settings, 0);
    int64_t ended = started;
    await_at_least(received, task.count, deadline);
    end_consumers();
    for (int i = 0; i < task.consumers; i++) {
        bytes += consumers[i].bytes;
        ended = consumers[i].ended > ended ? consumers[i].ended : ended;
    }
    report("consume", consumed, bytes, 0, ended, cpu_seconds() - cpu);
    printf("}\n");
}

static const char *value_of(const char *argument, const char *name) {
    size_t length = strlen(name);
    return strncmp(argument, name, length) == 0 && argument[length] == '=' ? argument + length + 1 : NULL;
}

static void read_argument(char *argument) {
    const char *value;
    char problem[256];
    if ((value = value_of(argument, "brokers")))
        task.brokers = value;
    else if ((value = value_of(argument, "topic")))
        task.topic = value;
    else if ((value = value_of(argument, "deliveries")))
        task.deliveries = value;
    else if ((value = value_of(argument, "received")))
        task.received = value;
    else if ((value = value_of(argument, "payload")))
        task.payload = value;
    else if ((value = value_of(argument, "partitions")))
        task.partitions = atoi(value);
    else if ((value = value_of(argument, "producers")))
        task.producers = atoi(value);
    else if ((value = value_of(argument, "consumers")))
        task.consumers = atoi(value);
    else if ((value = value_of(argument, "replicated")))
        task.replicated = atoi(value);
    else if ((value = value_of(argument, "size")))
        task.size = (size_t)atoll(value);
    else if ((value = value_of(argument, "count")))
        task.count = atoll(value);
    else if ((value = value_of(argument, "least")))
        task.least = atoll(value);
    else if ((value = value_of(argument, "seconds")))
        task.seconds = atof(value);
    else if ((value = value_of(argument, "rate")))
        task.rate = atof(value);
    else if ((value = value_of(argument, "timeout")))
        task.timeout = atof(value);
    else if (strncmp(argument, "conf.", 5) == 0 && strchr(argument, '=')) {
        *strchr(argument, '=') = '\0';
        if (rd_kafka_conf_set(settings, argument + 5, argument + strlen(argument) + 1, problem, sizeof problem))
            die(argument, problem);
    } else
        die("unknown argument", argument);
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    settings = rd_kafka_conf_new();
    for (int i = 2; i < argc; i++)
        read_argument(argv[i]);
    if (!task.brokers || !task.topic)
        die("usage", "driver produce|consume|exchange brokers=H:P topic=T ...");
    if (strcmp(mode, "exchange") == 0 && task.size < sizeof(int64_t))
        die("size", "a message of an exchange carries a time of eight bytes");
    if (strcmp(mode, "consume") == 0)
        consume();
    else if (strcmp(mode, "produce") == 0 || strcmp(mode, "exchange") == 0)
        produce(mode[0] == 'e');
    else
        die("unknown mode", mode);
    fflush(stdout);
    _Exit(0); /* nothing is left to wait for, and closing a consumer takes longer than some measurements */
}
