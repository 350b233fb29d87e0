/** Written by `npm run docs` from the API's OpenAPI document: do not edit. */

export interface paths {
    readonly "/v1/jobs": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List your jobs, newest first
         * @description A cursor stays valid while jobs are created and deleted. Labels, times and states have an index; with another filter that few jobs match, or with jobs of long inputs, a page can be short and still have a next one.
         */
        readonly get: operations["listJobs"];
        readonly put?: never;
        /**
         * Create a job
         * @description Responds with 202 as soon as the job is stored; from then on it reaches exactly one terminal state. With a wait, the response is held until the job has ended (200) or the wait is over (202). The job continues in any case, also when the client disconnects.
         */
        readonly post: operations["createJob"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/jobs/{id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Get a job
         * @description With `wait`, the response is held until the job has ended; with `wait` and `If-None-Match`, until the job changes, progress included.
         */
        readonly get: operations["getJob"];
        readonly put?: never;
        readonly post?: never;
        /**
         * Delete a job
         * @description Deletes a job that has ended, with its outputs and what was sent with its request. A job that has not ended, or a workflow with a node that has not ended, is cancelled instead. A node cannot be deleted without its workflow; that is a conflict.
         */
        readonly delete: operations["deleteJob"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/jobs/{id}/cancel": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Cancel a job
         * @description A queued job ends at once; a running one stops at its next step. Takes no body.
         */
        readonly post: operations["cancelJob"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/jobs/{id}/retry": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Retry a job
         * @description Creates a new job from the input of one that has ended: with the same seed, version of the model, priority, metadata and webhook. `retried_from` of the new job is the earlier one, which does not change. What was sent with the earlier job is copied; when it is no longer stored, the answer is a 410. A job that has not ended, a workflow and a node are a conflict. Takes no body.
         */
        readonly post: operations["retryJob"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/jobs/{id}/events": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Follow a job
         * @description Server-sent events: first the past events of the job, then each new one, until the job has ended; then the stream closes. Progress is sent at most every 250 ms, `job.preview` (without an id, not repeated) at most twice a second, and a `: ping` comment after every 15 s without an event. A client that reconnects, to this or another server, with the id of the last event it has misses nothing. The last event is sent exactly once on each connection and has the whole job.
         */
        readonly get: operations["followJob"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/events/{id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Follow a job without a key
         * @description As `/v1/jobs/{id}/events`, for clients that cannot send a key, such as EventSource in a browser. `links.events_signed` of a job is a signed link to this route; until it expires it grants the right to follow that job. An open stream stays open.
         */
        readonly get: operations["followJobByLink"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/jobs/{id}/webhook": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Get the webhook log of a job
         * @description All events that were sent or will be sent, and all attempts with the replies of the receiver.
         */
        readonly get: operations["getWebhookLog"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/jobs/{id}/webhook/redeliver": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Redeliver the last webhook event of a job
         * @description Sends it at once with the same id and bytes and counts its attempts from zero, also to a receiver that was closed. Takes no body.
         */
        readonly post: operations["redeliverWebhook"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/batches/{id}/webhook": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Get the webhook log of a batch
         * @description The event of its end, and all attempts with the replies of the receiver.
         */
        readonly get: operations["getBatchWebhookLog"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/batches/{id}/webhook/redeliver": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Redeliver the webhook event of a batch
         * @description Sends it at once with the same id and bytes and counts its attempts from zero, also to a receiver that was closed. Takes no body.
         */
        readonly post: operations["redeliverBatchWebhook"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/job-actions": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** List your actions on jobs, newest first */
        readonly get: operations["listJobActions"];
        readonly put?: never;
        /**
         * Cancel, retry, delete or prioritize all jobs that match a filter
         * @description Covers the jobs that were made before the request, page by page, while others have their turn. With `dry_run` it only counts them. Needs the scope that the same for one job needs: `cancel` for cancel and delete, `submit` for retry and prioritize. Retries count against the limits of the key: the action waits until there is room.
         */
        readonly post: operations["createJobAction"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/job-actions/{id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Get an action on jobs with its progress */
        readonly get: operations["getJobAction"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/job-actions/{id}/cancel": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Cancel an action on jobs
         * @description What it has done stays done. Takes no body.
         */
        readonly post: operations["cancelJobAction"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/batches": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** List your batches, newest first */
        readonly get: operations["listBatches"];
        readonly put?: never;
        /**
         * Create a batch
         * @description Its jobs are made a few hundred at a time, as the limits of the key and the fleet allow, and their answers are collected in a file. A line that is refused does not stop the others.
         */
        readonly post: operations["createBatch"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/batches/{id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Get a batch */
        readonly get: operations["getBatch"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/batches/{id}/results.zip": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Download the results of a batch as a zip
         * @description Every output as a file, named after its line, and the lines of the output and error files as `results.jsonl` and `errors.jsonl`. Outputs that have been deleted are named in `missing.txt`.
         */
        readonly get: operations["getBatchZip"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/batches/{id}/cancel": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Cancel a batch
         * @description No more jobs are made, and those that have not ended are cancelled. What is done is given out. Takes no body.
         */
        readonly post: operations["cancelBatch"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/batches/{id}/retry": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Repeat what failed
         * @description Makes a new batch of the lines of this one that did not succeed. Takes no body.
         */
        readonly post: operations["retryBatch"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/batches/{id}/events": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Follow a batch
         * @description Server-sent events: the batch as it is, then as `batch.progress` each time that it has changed, at most once a second, and at last the event of its end; then the stream closes. A `: ping` comment comes after every 15 s without an event.
         */
        readonly get: operations["followBatch"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/batches/{id}/lines": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List the lines of a batch
         * @description In the order of the input, each with its job as it is now, also when the job itself is no longer there. A line without a job waits, or has an `error`. Pages can be short and still have a next one.
         */
        readonly get: operations["listBatchLines"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/schedules": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** List your schedules, newest first */
        readonly get: operations["listSchedules"];
        readonly put?: never;
        /**
         * Create a schedule
         * @description Its jobs are made with this key, with the rights and limits that the key has at the time of each run.
         */
        readonly post: operations["createSchedule"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/schedules/{id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Get a schedule with its next and its last runs */
        readonly get: operations["getSchedule"];
        readonly put?: never;
        readonly post?: never;
        /**
         * Delete a schedule
         * @description Its jobs stay.
         */
        readonly delete: operations["deleteSchedule"];
        readonly options?: never;
        readonly head?: never;
        /**
         * Change, pause or resume a schedule
         * @description What the body leaves out stays. From then on its jobs are made with the key of this request.
         */
        readonly patch: operations["changeSchedule"];
        readonly trace?: never;
    };
    readonly "/v1/models/{id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Get a model */
        readonly get: operations["getModel"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/files": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List your files that have a purpose
         * @description In the form of OpenAI. Files that were sent as `content` are not listed.
         */
        readonly get: operations["listFiles"];
        readonly put?: never;
        /** Upload a file */
        readonly post: operations["createFile"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/files/{id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Get an uploaded file */
        readonly get: operations["getFile"];
        readonly put?: never;
        readonly post?: never;
        /**
         * Delete an uploaded file
         * @description A job that has not read the file yet will fail.
         */
        readonly delete: operations["deleteFile"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/files/{id}/content": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Download a file
         * @description An upload as it was sent, or the output of a batch: JSON lines in the order of its input, with links that are signed now.
         */
        readonly get: operations["getFileContent"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/models": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List the models
         * @description The same list twice: `data` for OpenAI clients, `results` for Replicate clients.
         */
        readonly get: operations["listModels"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/queues": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List the queues
         * @description One queue for each group of jobs that can share a batch: one model version and, for images, one size.
         */
        readonly get: operations["listQueues"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/activity": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Show what Lehr is doing now
         * @description The workers, the running batches with every sample and its step, and who waits. Samples and waiting jobs of other tenants are shown without their ids and owners. It is read at most once a second, so a request per second is enough.
         */
        readonly get: operations["getActivity"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/scale/{pool}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Say how many workers a pool should have
         * @description For what starts and stops workers, such as KEDA (scaler `metrics-api`, valueLocation `desired_workers`, targetValue 1) or `lehr fleet`. It is computed at most once a second. Without LEHR_POOLS there is one pool, `all`. Needs the scope `scale` or `admin`.
         */
        readonly get: operations["getScale"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/charts": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Show the main metrics over time
         * @description Ten charts of the whole installation, read from the Prometheus at LEHR_PROMETHEUS_URL at most every five seconds. Needs a key of the scope `admin`. A chart that could not be read has a `problem`.
         */
        readonly get: operations["getCharts"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/rollouts": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List the rollouts
         * @description The latest rollout of each model that has one, by the name of the model.
         */
        readonly get: operations["listRollouts"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/rollouts/{model}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Get the rollout of a model */
        readonly get: operations["getRollout"];
        /**
         * Try a version of a model
         * @description Starts a rollout, or changes the weights of the one that is under way. Jobs that name a version are not affected, and a job that was accepted keeps its version. Takes effect on every API process within two seconds.
         */
        readonly put: operations["deployVersion"];
        readonly post?: never;
        /**
         * Forget the rollout of a model
         * @description From then on the weights in models.yaml decide which version a job gets. The history is kept.
         */
        readonly delete: operations["removeRollout"];
        readonly options?: never;
        readonly head?: never;
        /**
         * Promote, roll back, pause or resume
         * @description Takes effect on every API process within two seconds.
         */
        readonly patch: operations["changeRollout"];
        readonly trace?: never;
    };
    readonly "/v1/pauses": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** List what is paused */
        readonly get: operations["listPauses"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/pauses/{target}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        /**
         * Pause a model, a version, a tenant, or all
         * @description From this answer on no worker claims a job of it. Jobs that run end, or go back to their queues with `now`. Waiting jobs keep their places and their deadlines; those of a tenant step aside when a worker comes to them, and get new places when it is resumed. Whether new jobs are refused takes effect on every API process within two seconds.
         */
        readonly put: operations["pauseModel"];
        readonly post?: never;
        /**
         * Resume what was paused
         * @description Pauses are counted apart: a version stays paused while its model, or everything, is.
         */
        readonly delete: operations["resumeModel"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/keys": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List all keys
         * @description The keys of all tenants, oldest first, without the configured key (LEHR_API_KEY).
         */
        readonly get: operations["listKeys"];
        readonly put?: never;
        /**
         * Create a key
         * @description The first key of a tenant creates the tenant. To rotate a key, create a second one and revoke the first when it is no longer used.
         */
        readonly post: operations["createKey"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/keys/{id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        readonly post?: never;
        /**
         * Revoke a key
         * @description Every API process refuses it within a second. Jobs that were created with it continue.
         */
        readonly delete: operations["revokeKey"];
        readonly options?: never;
        readonly head?: never;
        /**
         * Change a key
         * @description Takes effect on every API process within a second. An absent limit stays unchanged; null removes it. A session of the studio may change the limits and nothing else.
         */
        readonly patch: operations["changeKey"];
        readonly trace?: never;
    };
    readonly "/v1/audit": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List the audit log, newest first
         * @description Who created, changed and revoked keys, got or rotated a webhook secret, and was refused at the pages under /admin. With a filter that few entries match, a page can be short and still have a next one.
         */
        readonly get: operations["listAuditEntries"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/settings": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List the settings in force
         * @description The environment variables of the API process that answers, with defaults. Secrets show only whether they are set.
         */
        readonly get: operations["listSettings"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/dead-letters": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List failed jobs of all tenants
         * @description Jobs that failed for good, newest failure first, without their inputs, and jobs and workers whose stored form could not be read.
         */
        readonly get: operations["listDeadLetters"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/traffic": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Show the traffic between callers, API, queues, workers, store and receivers
         * @description Rates, errors and waits of the last ten seconds. It is read at most once a second, so a request per second is enough. Processes report their counters only while it is read: the first answers have no rates.
         */
        readonly get: operations["getTraffic"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/usage": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Show what each tenant uses
         * @description Ended jobs and device time of a range of days (UTC), by day, tenant, API key or model, with prices when the operator states one; and the jobs of the last 24 hours by hour, and what waits, runs and is stored now. A key without the scope `admin` reads the use of its own tenant. As CSV it has the days alone.
         */
        readonly get: operations["getUsage"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/webhooks/secret": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List your webhook secrets
         * @description Without their values. The first one is current; a previous one signs for a day after a rotation.
         */
        readonly get: operations["listWebhookSecrets"];
        readonly put?: never;
        /**
         * Get your webhook secret
         * @description It is shown only once. A receiver verifies the signature of a webhook with it. Takes no body.
         */
        readonly post: operations["showWebhookSecret"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/webhooks/secret/rotate": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Rotate your webhook secret
         * @description The new secret signs from now on; the old one signs as well for a day. At most four sign at once; a fifth is a 409 until the oldest one stops. Takes no body.
         */
        readonly post: operations["rotateWebhookSecret"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/webhooks/test": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Test a webhook receiver
         * @description Sends one signed `webhook.test` event at once and returns the reply. It is not retried.
         */
        readonly post: operations["testWebhook"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
}
export interface webhooks {
    readonly job: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * A job event
         * @description Posted to the `webhook.url` of a job at least once, in no fixed order. All attempts for an event have the same `webhook-id`.
         */
        readonly post: operations["onJobEvent"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly batch: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * The end of a batch
         * @description Posted to the `webhook.url` of a batch at least once, with the same `webhook-id` on every attempt.
         */
        readonly post: operations["onBatchEvent"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
}
export interface components {
    schemas: {
        readonly WebhookBody: {
            /** @enum {string} */
            readonly type: "job.queued" | "job.started" | "job.succeeded" | "job.failed" | "job.canceled" | "job.expired";
            /**
             * Format: date-time
             * @description When the event happened, not when it was sent.
             */
            readonly timestamp: string;
            readonly data: {
                readonly id: string;
                /** @enum {string} */
                readonly object: "job";
                /** @enum {string} */
                readonly type: "text-to-image" | "speech-to-text" | "speech-to-image" | "text-embedding" | "text-classification" | "fill-mask" | "token-classification" | "picture-transform" | "workflow";
                /** @description `name@version` that runs the job. */
                readonly model: string;
                /** @enum {string} */
                readonly status: "scheduled" | "queued" | "running" | "succeeded" | "failed" | "canceled" | "expired";
                /** @enum {string} */
                readonly priority: "interactive" | "standard" | "bulk";
                /** @description Attempts started so far; a crash of a worker costs one. */
                readonly attempt: number;
                /** Format: date-time */
                readonly created_at: string;
                /** Format: date-time */
                readonly started_at: string | null;
                /** Format: date-time */
                readonly finished_at: string | null;
                /**
                 * Format: date-time
                 * @description When the record of a finished job is deleted.
                 */
                readonly expires_at: string | null;
                /** Format: date-time */
                readonly deadline_at: string | null;
                /**
                 * Format: date-time
                 * @description Of a job with `run_at` or `delay_s`: it is `scheduled` until then, and enters its queue at that time.
                 */
                readonly run_at?: string | undefined;
                readonly concurrency?: components["schemas"]["Concurrency"] | undefined;
                /**
                 * @description Why a `queued` job does not get its turn: enough jobs of its `concurrency` key run, or an operator has paused its tenant or its model. In the first two cases it has no place in its queue.
                 * @enum {string}
                 */
                readonly waits_for?: ("concurrency" | "tenant" | "model") | undefined;
                /** @description While the job waits: its place in line, and the estimated ms until it is done, if a worker serves it or starts and its model is not paused. */
                readonly queue: {
                    readonly position: number;
                    readonly eta_ms: number | null;
                    /** @description While no worker serves the model and one starts, or is about to: the estimated ms until it serves. */
                    readonly worker_in_ms?: number | undefined;
                } | null;
                readonly progress: components["schemas"]["Progress"];
                readonly input: {
                    readonly [key: string]: unknown;
                };
                readonly output: components["schemas"]["JobOutputs"];
                readonly error: components["schemas"]["JobError"];
                readonly metrics: components["schemas"]["JobMetrics"];
                readonly webhook: components["schemas"]["Webhook"];
                /** @description Your own labels, at most 32; returned unchanged. */
                readonly metadata: {
                    readonly [key: string]: string;
                };
                /** @description Of a workflow. */
                readonly nodes?: readonly components["schemas"]["NodeState"][] | undefined;
                /** @description The job that this one repeats. */
                readonly retried_from?: string | undefined;
                readonly links: {
                    /** Format: uri */
                    readonly self: string;
                    /**
                     * Format: uri
                     * @description Server-sent events, read with your API key.
                     */
                    readonly events: string;
                    /**
                     * Format: uri
                     * @description The same for clients that send no key, such as browsers: the link is signed and expires.
                     */
                    readonly events_signed: string;
                    /** Format: uri */
                    readonly cancel: string;
                };
                /** @description Fields that were emptied to keep the body small; `links.self` has them. */
                readonly left_out?: readonly string[] | undefined;
            };
        };
        /** @description At most `max` jobs of the tenant with this `key` run at once; the others wait, and delay no other job. Of a workflow: of its nodes. */
        readonly Concurrency: {
            readonly key: string;
            readonly max: number;
        };
        readonly Progress: {
            readonly fraction: number;
            /** @enum {string} */
            readonly stage: "text" | "denoise" | "decode" | "upload" | "audio" | "transcribe" | "transform" | "nodes";
            readonly step: number;
            readonly steps: number;
        } | null;
        readonly JobOutputs: {
            readonly images?: readonly components["schemas"]["Image"][] | undefined;
            /** @description Of pictures: the prompt had more tokens than the model reads, and its end was left out. Both counts include the start and the end of the text. Absent when all of it was read. */
            readonly truncated_prompt?: {
                /** @description Tokens that the model read. */
                readonly read: number;
                /** @description Tokens of the whole text; absent of one of thousands of characters, which is not counted to its end. */
                readonly tokens?: number | undefined;
            } | undefined;
            /** @description Of pictures: the negative prompt had more tokens than the model reads, and its end was left out. Both counts include the start and the end of the text. Absent when all of it was read. */
            readonly truncated_negative_prompt?: {
                /** @description Tokens that the model read. */
                readonly read: number;
                /** @description Tokens of the whole text; absent of one of thousands of characters, which is not counted to its end. */
                readonly tokens?: number | undefined;
            } | undefined;
            /** @description Of pictures with `prompt_syntax: weighted`: the length of the prompt, all of which was read. */
            readonly prompt_size?: {
                /** @description Without the start and the end of the text. */
                readonly tokens: number;
                /** @description Pieces of up to 75 tokens. */
                readonly chunks: number;
            } | undefined;
            /** @description Of pictures with `prompt_syntax: weighted`: the length of the negative prompt, all of which was read. */
            readonly negative_prompt_size?: {
                /** @description Without the start and the end of the text. */
                readonly tokens: number;
                /** @description Pieces of up to 75 tokens. */
                readonly chunks: number;
            } | undefined;
            readonly text?: string | undefined;
            /** @description ISO 639-1 code. */
            readonly language?: string | undefined;
            /** @description Seconds of audio. */
            readonly duration?: number | undefined;
            /** @enum {string} */
            readonly task?: ("transcribe" | "translate") | undefined;
            readonly segments?: readonly components["schemas"]["Segment"][] | undefined;
            readonly words?: readonly components["schemas"]["Word"][] | undefined;
            /** @description Text embedding. One per text. */
            readonly embeddings?: readonly (readonly number[])[] | undefined;
            /** @description Of each embedding. */
            readonly dimensions?: number | undefined;
            /** @description Text classification, and classes of a picture. One list per text, in the order of the request; of a picture one list, best first. */
            readonly labels?: readonly (readonly components["schemas"]["LabelScore"][])[] | undefined;
            /** @description Fill-mask. One list per text, in the order of the request; in it one list per mask, best first. */
            readonly fills?: readonly (readonly (readonly components["schemas"]["Fill"][])[])[] | undefined;
            /** @description Token classification. One list per text, in the order of the request, in its order. */
            readonly entities?: readonly (readonly components["schemas"]["Entity"][])[] | undefined;
            /** @description Tokens that the model read, special tokens included and padding not. */
            readonly tokens?: number | undefined;
            /** @description Indexes of the texts that were cut; absent when there are none. */
            readonly truncated?: readonly number[] | undefined;
            /** @description In the place of a result of more than 384 kB: a signed link to its JSON, where `embeddings` is base64 of 32-bit floats, little-endian, one text after the other. */
            readonly result_url?: string | undefined;
            /**
             * Format: date-time
             * @description When `result_url` expires.
             */
            readonly result_expires_at?: string | undefined;
        } | null;
        readonly Image: {
            /**
             * Format: uri
             * @description Signed: gives read access until `expires_at`. Get the job again for a new link.
             */
            readonly url: string;
            readonly content_type: string;
            readonly width: number;
            readonly height: number;
            readonly bytes: number;
            readonly sha256: string;
            /** @description Of a picture that was drawn. */
            readonly seed?: number | undefined;
            /**
             * Format: uri
             * @description Of a picture with `denoising_end`: its latent as a safetensors file, signed as `url` is.
             */
            readonly latent_url?: string | undefined;
            /** @description What the check of the picture says, where the operator has it checked. */
            readonly safety?: {
                /** @description Whether it was found unsafe. */
                readonly flagged: boolean;
                /** @description The unsafe label with the highest score. */
                readonly label: string;
                readonly score: number;
            } | undefined;
            /** Format: date-time */
            readonly expires_at: string;
        };
        readonly Segment: {
            readonly id: number;
            /** @description Start of its window, in frames of 10 ms. */
            readonly seek: number;
            readonly start: number;
            readonly end: number;
            readonly text: string;
            readonly tokens: readonly number[];
            readonly temperature: number;
            readonly avg_logprob: number;
            readonly compression_ratio: number;
            readonly no_speech_prob: number;
        };
        readonly Word: {
            readonly word: string;
            readonly start: number;
            readonly end: number;
        };
        readonly LabelScore: {
            readonly label: string;
            readonly score: number;
        };
        readonly Fill: {
            readonly score: number;
            /** @description Its id in the vocabulary. */
            readonly token: number;
            readonly token_str: string;
            /** @description The text with this token in the place of the mask. */
            readonly sequence: string;
        };
        readonly Entity: {
            readonly label: string;
            readonly score: number;
            readonly word: string;
            /** @description In Unicode code points of the text. */
            readonly start: number;
            /** @description Exclusive. */
            readonly end: number;
        };
        readonly JobError: {
            /** @enum {string} */
            readonly code: "invalid-request" | "unauthenticated" | "forbidden" | "not-found" | "model-not-found" | "method-not-allowed" | "too-slow" | "conflict" | "gone" | "too-large" | "unsupported-media" | "invalid-input" | "idempotency-mismatch" | "rate-limited" | "overloaded" | "unavailable" | "hold-expired" | "internal" | "engine-crashed" | "engine-failed" | "numeric-error" | "out-of-memory" | "model-unavailable" | "storage-failed" | "attempts-exhausted" | "run-too-long" | "deadline-exceeded" | "invalid-audio" | "unsafe-picture" | "node-failed";
            readonly title: string;
            readonly detail: string;
            /** @description Whether the same job may succeed when it is posted again. */
            readonly retryable: boolean;
        } | null;
        readonly JobMetrics: {
            readonly queue_ms: number;
            readonly run_ms: number;
            readonly total_ms: number;
            /** @description Mean number of samples, windows, texts or tiles that shared this job's graph runs; null for a workflow. */
            readonly batch_size: number | null;
            readonly worker: string | null;
            readonly timings: components["schemas"]["Timings"] | components["schemas"]["SpeechTimings"] | components["schemas"]["TextTimings"] | components["schemas"]["TransformTimings"] | components["schemas"]["WorkflowTimings"];
            /** @description Device time of the job's own steps and graph runs; of what it shared with other jobs, its share. Without waits, so it does not depend on what else runs. Absent for a workflow, and for pictures that continued from a checkpoint. */
            readonly device_ms?: number | undefined;
            /** @description Seconds of audio transcribed. */
            readonly audio_seconds?: number | undefined;
        } | null;
        readonly Timings: {
            /** @description From the request until a worker took the job. */
            readonly queued: number;
            /** @description From then until its first step, without the text encoding. */
            readonly admitted: number;
            /** @description Encoding the prompts. */
            readonly text: number;
            /** @description From the first step of the first picture to the last step of the last. */
            readonly denoise: number;
            /** @description Decoding latents into pixels, including the wait for the decoder. */
            readonly decode: number;
            /** @description Encoding pixels into files; with `safety`, also their check. */
            readonly encode: number;
            /** @description Writing the files to the store. */
            readonly upload: number;
        };
        readonly SpeechTimings: {
            /** @description From the request until a worker took the job. */
            readonly queued: number;
            /** @description Fetching the audio. */
            readonly fetch: number;
            /** @description Decoding it into a waveform. */
            readonly decode: number;
            /** @description From the first window to the last segment, including waits. */
            readonly transcribe: number;
            /** @description Writing the transcript. */
            readonly store: number;
        };
        readonly TextTimings: {
            /** @description From the request until a worker took the job. */
            readonly queued: number;
            /** @description Reading the texts and making tokens of them. */
            readonly tokenize: number;
            /** @description From then until its first texts entered the graph. */
            readonly wait: number;
            /** @description From then until its last text was done. */
            readonly run: number;
            /** @description Writing a large result; of a small one 0. */
            readonly store: number;
        };
        readonly TransformTimings: {
            /** @description From the request until a worker took the job. */
            readonly queued: number;
            /** @description Fetching the picture and decoding it into pixels. */
            readonly fetch: number;
            /** @description From then until its first tile entered the graph. */
            readonly wait: number;
            /** @description From then until its last tile was done. */
            readonly run: number;
            /** @description Encoding the result into a file; of labels 0. */
            readonly encode: number;
            /** @description Writing the file to the store; of labels 0. */
            readonly upload: number;
        };
        readonly WorkflowTimings: {
            /** @description Until the first node started. */
            readonly queued: number;
            /** @description From then until the last node ended. */
            readonly nodes: number;
        };
        readonly Webhook: {
            readonly url: string;
            readonly events: readonly string[];
        } | null;
        readonly NodeState: {
            readonly id: string;
            /** @enum {string} */
            readonly type: "text-to-image" | "speech-to-text" | "speech-to-image" | "text-embedding" | "text-classification" | "fill-mask" | "token-classification" | "picture-transform" | "workflow";
            readonly model: string;
            readonly job: string | null;
            /** @enum {string} */
            readonly status: "waiting" | "scheduled" | "queued" | "running" | "succeeded" | "failed" | "canceled" | "expired";
            readonly progress: components["schemas"]["Progress"];
            readonly output: components["schemas"]["JobOutputs"];
            readonly error: components["schemas"]["JobError"];
            readonly metrics: components["schemas"]["JobMetrics"];
        };
        readonly BatchWebhookBody: {
            /** @enum {string} */
            readonly type: "batch.completed" | "batch.failed" | "batch.expired" | "batch.cancelled";
            /** Format: date-time */
            readonly timestamp: string;
            readonly data: components["schemas"]["Batch"];
        };
        readonly Batch: {
            readonly id: string;
            /** @enum {string} */
            readonly object: "batch";
            /** @enum {string} */
            readonly endpoint: "/v1/jobs" | "/v1/images/generations" | "/v1/images/edits" | "/v1/audio/transcriptions" | "/v1/embeddings";
            /** @description Why the batch failed as a whole. Errors of lines are in the error file. */
            readonly errors: {
                /** @enum {string} */
                readonly object: "list";
                readonly data: readonly {
                    readonly code: string;
                    readonly message: string;
                    readonly param: string | null;
                    readonly line: number | null;
                }[];
            } | null;
            readonly input_file_id: string | null;
            /**
             * @description Where its lines come from.
             * @enum {string}
             */
            readonly source: "requests" | "sweep" | "file" | "retry";
            readonly completion_window: string;
            /** @enum {string} */
            readonly status: "validating" | "failed" | "in_progress" | "finalizing" | "completed" | "expired" | "cancelling" | "cancelled";
            /** @description What succeeded, when the batch has ended: JSON lines in the order of the input. */
            readonly output_file_id: string | null;
            /** @description What did not, in the same form. */
            readonly error_file_id: string | null;
            readonly created_at: number;
            /** @description When its first job was made, Unix seconds. */
            readonly in_progress_at: number | null;
            readonly expires_at: number;
            /** @description When its last job was made or it was to end, Unix seconds. */
            readonly finalizing_at: number | null;
            /** @description When it was completed, Unix seconds. */
            readonly completed_at: number | null;
            /** @description When it failed, Unix seconds. */
            readonly failed_at: number | null;
            /** @description When it expired, Unix seconds. */
            readonly expired_at: number | null;
            /** @description When its cancellation was asked for, Unix seconds. */
            readonly cancelling_at: number | null;
            /** @description When it was cancelled, Unix seconds. */
            readonly cancelled_at: number | null;
            readonly request_counts: {
                /** @description 0 while the file is being checked. */
                readonly total: number;
                readonly completed: number;
                readonly failed: number;
            };
            /** @description Your own labels, at most 32; returned unchanged. */
            readonly metadata: {
                readonly [key: string]: string;
            };
            /** @enum {string} */
            readonly priority: "interactive" | "standard" | "bulk";
            readonly webhook: {
                readonly url: string;
            } | null;
            /** @description The batch whose failed lines these are. */
            readonly retried_from: string | null;
        };
        readonly Job: {
            readonly id: string;
            /** @enum {string} */
            readonly object: "job";
            /** @enum {string} */
            readonly type: "text-to-image" | "speech-to-text" | "speech-to-image" | "text-embedding" | "text-classification" | "fill-mask" | "token-classification" | "picture-transform" | "workflow";
            /** @description `name@version` that runs the job. */
            readonly model: string;
            /** @enum {string} */
            readonly status: "scheduled" | "queued" | "running" | "succeeded" | "failed" | "canceled" | "expired";
            /** @enum {string} */
            readonly priority: "interactive" | "standard" | "bulk";
            /** @description Attempts started so far; a crash of a worker costs one. */
            readonly attempt: number;
            /** Format: date-time */
            readonly created_at: string;
            /** Format: date-time */
            readonly started_at: string | null;
            /** Format: date-time */
            readonly finished_at: string | null;
            /**
             * Format: date-time
             * @description When the record of a finished job is deleted.
             */
            readonly expires_at: string | null;
            /** Format: date-time */
            readonly deadline_at: string | null;
            /**
             * Format: date-time
             * @description Of a job with `run_at` or `delay_s`: it is `scheduled` until then, and enters its queue at that time.
             */
            readonly run_at?: string | undefined;
            readonly concurrency?: components["schemas"]["Concurrency"] | undefined;
            /**
             * @description Why a `queued` job does not get its turn: enough jobs of its `concurrency` key run, or an operator has paused its tenant or its model. In the first two cases it has no place in its queue.
             * @enum {string}
             */
            readonly waits_for?: ("concurrency" | "tenant" | "model") | undefined;
            /** @description While the job waits: its place in line, and the estimated ms until it is done, if a worker serves it or starts and its model is not paused. */
            readonly queue: {
                readonly position: number;
                readonly eta_ms: number | null;
                /** @description While no worker serves the model and one starts, or is about to: the estimated ms until it serves. */
                readonly worker_in_ms?: number | undefined;
            } | null;
            readonly progress: components["schemas"]["Progress"];
            readonly input: {
                readonly [key: string]: unknown;
            };
            readonly output: components["schemas"]["JobOutputs"];
            readonly error: components["schemas"]["JobError"];
            readonly metrics: components["schemas"]["JobMetrics"];
            readonly webhook: components["schemas"]["Webhook"];
            /** @description Your own labels, at most 32; returned unchanged. */
            readonly metadata: {
                readonly [key: string]: string;
            };
            /** @description Of a workflow. */
            readonly nodes?: readonly components["schemas"]["NodeState"][] | undefined;
            /** @description The job that this one repeats. */
            readonly retried_from?: string | undefined;
            readonly links: {
                /** Format: uri */
                readonly self: string;
                /**
                 * Format: uri
                 * @description Server-sent events, read with your API key.
                 */
                readonly events: string;
                /**
                 * Format: uri
                 * @description The same for clients that send no key, such as browsers: the link is signed and expires.
                 */
                readonly events_signed: string;
                /** Format: uri */
                readonly cancel: string;
            };
        };
        readonly Problem: {
            readonly type: string;
            readonly title: string;
            readonly status: number;
            readonly detail: string;
            /** @description The id of the request, as in `x-request-id`. */
            readonly instance: string;
            readonly errors?: readonly {
                readonly pointer: string;
                readonly detail: string;
            }[] | undefined;
        };
        readonly JobRequest: {
            /** @enum {string} */
            readonly type: "text-to-image";
            /** @description `name` or `name@version`. Absent: the default model of the task. */
            readonly model?: string | undefined;
            readonly input: components["schemas"]["TextToImageInput"];
            /**
             * @description Jobs of a more urgent class always run first. Absent: `standard`, or the most urgent class that the key allows if that is `bulk`.
             * @enum {string}
             */
            readonly priority?: ("interactive" | "standard" | "bulk") | undefined;
            /** @description Seconds from now, or from `run_at`. A job that is not finished by then ends as `expired`. */
            readonly deadline_s?: number | undefined;
            /**
             * Format: date-time
             * @description The job enters its queue at this time, at most 30 days ahead; until then its state is `scheduled`. A time that has passed is now.
             */
            readonly run_at?: string | undefined;
            /** @description As `run_at`, in seconds from now. Give one of the two. */
            readonly delay_s?: number | undefined;
            readonly concurrency?: components["schemas"]["Concurrency"] | undefined;
            readonly webhook?: components["schemas"]["WebhookRequest"] | undefined;
            /**
             * @description Your own labels, at most 32; returned unchanged.
             * @default {}
             */
            readonly metadata?: {
                readonly [key: string]: string;
            } | undefined;
        } | {
            /** @enum {string} */
            readonly type: "speech-to-text";
            /** @description `name` or `name@version`. Absent: the default model of the task. */
            readonly model?: string | undefined;
            readonly input: components["schemas"]["SpeechToTextInput"];
            /**
             * @description Jobs of a more urgent class always run first. Absent: `standard`, or the most urgent class that the key allows if that is `bulk`.
             * @enum {string}
             */
            readonly priority?: ("interactive" | "standard" | "bulk") | undefined;
            /** @description Seconds from now, or from `run_at`. A job that is not finished by then ends as `expired`. */
            readonly deadline_s?: number | undefined;
            /**
             * Format: date-time
             * @description The job enters its queue at this time, at most 30 days ahead; until then its state is `scheduled`. A time that has passed is now.
             */
            readonly run_at?: string | undefined;
            /** @description As `run_at`, in seconds from now. Give one of the two. */
            readonly delay_s?: number | undefined;
            readonly concurrency?: components["schemas"]["Concurrency"] | undefined;
            readonly webhook?: components["schemas"]["WebhookRequest"] | undefined;
            /**
             * @description Your own labels, at most 32; returned unchanged.
             * @default {}
             */
            readonly metadata?: {
                readonly [key: string]: string;
            } | undefined;
        } | {
            /** @enum {string} */
            readonly type: "picture-transform";
            /** @description `name` or `name@version`. Absent: the default model of the task. */
            readonly model?: string | undefined;
            readonly input: components["schemas"]["PictureTransformInput"];
            /**
             * @description Jobs of a more urgent class always run first. Absent: `standard`, or the most urgent class that the key allows if that is `bulk`.
             * @enum {string}
             */
            readonly priority?: ("interactive" | "standard" | "bulk") | undefined;
            /** @description Seconds from now, or from `run_at`. A job that is not finished by then ends as `expired`. */
            readonly deadline_s?: number | undefined;
            /**
             * Format: date-time
             * @description The job enters its queue at this time, at most 30 days ahead; until then its state is `scheduled`. A time that has passed is now.
             */
            readonly run_at?: string | undefined;
            /** @description As `run_at`, in seconds from now. Give one of the two. */
            readonly delay_s?: number | undefined;
            readonly concurrency?: components["schemas"]["Concurrency"] | undefined;
            readonly webhook?: components["schemas"]["WebhookRequest"] | undefined;
            /**
             * @description Your own labels, at most 32; returned unchanged.
             * @default {}
             */
            readonly metadata?: {
                readonly [key: string]: string;
            } | undefined;
        } | {
            /** @enum {string} */
            readonly type: "text-embedding";
            /** @description `name` or `name@version`. Absent: the default model of the task. */
            readonly model?: string | undefined;
            readonly input: components["schemas"]["TextEmbeddingInput"];
            /**
             * @description `none`: a small request that is held for its result may run without being stored. Its job cannot be read, listed, followed or retried, and ends with the request or with the processes that carry it. Default: `stored`.
             * @enum {string}
             */
            readonly durability?: ("stored" | "none") | undefined;
            /**
             * @description Jobs of a more urgent class always run first. Absent: `standard`, or the most urgent class that the key allows if that is `bulk`.
             * @enum {string}
             */
            readonly priority?: ("interactive" | "standard" | "bulk") | undefined;
            /** @description Seconds from now, or from `run_at`. A job that is not finished by then ends as `expired`. */
            readonly deadline_s?: number | undefined;
            /**
             * Format: date-time
             * @description The job enters its queue at this time, at most 30 days ahead; until then its state is `scheduled`. A time that has passed is now.
             */
            readonly run_at?: string | undefined;
            /** @description As `run_at`, in seconds from now. Give one of the two. */
            readonly delay_s?: number | undefined;
            readonly concurrency?: components["schemas"]["Concurrency"] | undefined;
            readonly webhook?: components["schemas"]["WebhookRequest"] | undefined;
            /**
             * @description Your own labels, at most 32; returned unchanged.
             * @default {}
             */
            readonly metadata?: {
                readonly [key: string]: string;
            } | undefined;
        } | {
            /** @enum {string} */
            readonly type: "text-classification";
            /** @description `name` or `name@version`. Absent: the default model of the task. */
            readonly model?: string | undefined;
            readonly input: components["schemas"]["TextClassificationInput"];
            /**
             * @description `none`: a small request that is held for its result may run without being stored. Its job cannot be read, listed, followed or retried, and ends with the request or with the processes that carry it. Default: `stored`.
             * @enum {string}
             */
            readonly durability?: ("stored" | "none") | undefined;
            /**
             * @description Jobs of a more urgent class always run first. Absent: `standard`, or the most urgent class that the key allows if that is `bulk`.
             * @enum {string}
             */
            readonly priority?: ("interactive" | "standard" | "bulk") | undefined;
            /** @description Seconds from now, or from `run_at`. A job that is not finished by then ends as `expired`. */
            readonly deadline_s?: number | undefined;
            /**
             * Format: date-time
             * @description The job enters its queue at this time, at most 30 days ahead; until then its state is `scheduled`. A time that has passed is now.
             */
            readonly run_at?: string | undefined;
            /** @description As `run_at`, in seconds from now. Give one of the two. */
            readonly delay_s?: number | undefined;
            readonly concurrency?: components["schemas"]["Concurrency"] | undefined;
            readonly webhook?: components["schemas"]["WebhookRequest"] | undefined;
            /**
             * @description Your own labels, at most 32; returned unchanged.
             * @default {}
             */
            readonly metadata?: {
                readonly [key: string]: string;
            } | undefined;
        } | {
            /** @enum {string} */
            readonly type: "fill-mask";
            /** @description `name` or `name@version`. Absent: the default model of the task. */
            readonly model?: string | undefined;
            readonly input: components["schemas"]["FillMaskInput"];
            /**
             * @description `none`: a small request that is held for its result may run without being stored. Its job cannot be read, listed, followed or retried, and ends with the request or with the processes that carry it. Default: `stored`.
             * @enum {string}
             */
            readonly durability?: ("stored" | "none") | undefined;
            /**
             * @description Jobs of a more urgent class always run first. Absent: `standard`, or the most urgent class that the key allows if that is `bulk`.
             * @enum {string}
             */
            readonly priority?: ("interactive" | "standard" | "bulk") | undefined;
            /** @description Seconds from now, or from `run_at`. A job that is not finished by then ends as `expired`. */
            readonly deadline_s?: number | undefined;
            /**
             * Format: date-time
             * @description The job enters its queue at this time, at most 30 days ahead; until then its state is `scheduled`. A time that has passed is now.
             */
            readonly run_at?: string | undefined;
            /** @description As `run_at`, in seconds from now. Give one of the two. */
            readonly delay_s?: number | undefined;
            readonly concurrency?: components["schemas"]["Concurrency"] | undefined;
            readonly webhook?: components["schemas"]["WebhookRequest"] | undefined;
            /**
             * @description Your own labels, at most 32; returned unchanged.
             * @default {}
             */
            readonly metadata?: {
                readonly [key: string]: string;
            } | undefined;
        } | {
            /** @enum {string} */
            readonly type: "token-classification";
            /** @description `name` or `name@version`. Absent: the default model of the task. */
            readonly model?: string | undefined;
            readonly input: components["schemas"]["TokenClassificationInput"];
            /**
             * @description `none`: a small request that is held for its result may run without being stored. Its job cannot be read, listed, followed or retried, and ends with the request or with the processes that carry it. Default: `stored`.
             * @enum {string}
             */
            readonly durability?: ("stored" | "none") | undefined;
            /**
             * @description Jobs of a more urgent class always run first. Absent: `standard`, or the most urgent class that the key allows if that is `bulk`.
             * @enum {string}
             */
            readonly priority?: ("interactive" | "standard" | "bulk") | undefined;
            /** @description Seconds from now, or from `run_at`. A job that is not finished by then ends as `expired`. */
            readonly deadline_s?: number | undefined;
            /**
             * Format: date-time
             * @description The job enters its queue at this time, at most 30 days ahead; until then its state is `scheduled`. A time that has passed is now.
             */
            readonly run_at?: string | undefined;
            /** @description As `run_at`, in seconds from now. Give one of the two. */
            readonly delay_s?: number | undefined;
            readonly concurrency?: components["schemas"]["Concurrency"] | undefined;
            readonly webhook?: components["schemas"]["WebhookRequest"] | undefined;
            /**
             * @description Your own labels, at most 32; returned unchanged.
             * @default {}
             */
            readonly metadata?: {
                readonly [key: string]: string;
            } | undefined;
        } | {
            /** @enum {string} */
            readonly type: "speech-to-image";
            /** @description Whisper model and diffusion model joined by `+`; either may be left out. */
            readonly model?: string | undefined;
            readonly input: components["schemas"]["SpeechToImageInput"];
            /**
             * @description Jobs of a more urgent class always run first. Absent: `standard`, or the most urgent class that the key allows if that is `bulk`.
             * @enum {string}
             */
            readonly priority?: ("interactive" | "standard" | "bulk") | undefined;
            /** @description Seconds from now, or from `run_at`. A job that is not finished by then ends as `expired`. */
            readonly deadline_s?: number | undefined;
            /**
             * Format: date-time
             * @description The job enters its queue at this time, at most 30 days ahead; until then its state is `scheduled`. A time that has passed is now.
             */
            readonly run_at?: string | undefined;
            /** @description As `run_at`, in seconds from now. Give one of the two. */
            readonly delay_s?: number | undefined;
            readonly concurrency?: components["schemas"]["Concurrency"] | undefined;
            readonly webhook?: components["schemas"]["WebhookRequest"] | undefined;
            /**
             * @description Your own labels, at most 32; returned unchanged.
             * @default {}
             */
            readonly metadata?: {
                readonly [key: string]: string;
            } | undefined;
        } | {
            /** @enum {string} */
            readonly type: "workflow";
            readonly nodes: readonly components["schemas"]["WorkflowNode"][];
            /**
             * @description Jobs of a more urgent class always run first. Absent: `standard`, or the most urgent class that the key allows if that is `bulk`.
             * @enum {string}
             */
            readonly priority?: ("interactive" | "standard" | "bulk") | undefined;
            /** @description Seconds from now, or from `run_at`. A job that is not finished by then ends as `expired`. */
            readonly deadline_s?: number | undefined;
            /**
             * Format: date-time
             * @description The job enters its queue at this time, at most 30 days ahead; until then its state is `scheduled`. A time that has passed is now.
             */
            readonly run_at?: string | undefined;
            /** @description As `run_at`, in seconds from now. Give one of the two. */
            readonly delay_s?: number | undefined;
            readonly concurrency?: components["schemas"]["Concurrency"] | undefined;
            readonly webhook?: components["schemas"]["WebhookRequest"] | undefined;
            /**
             * @description Your own labels, at most 32; returned unchanged.
             * @default {}
             */
            readonly metadata?: {
                readonly [key: string]: string;
            } | undefined;
        };
        readonly TextToImageInput: {
            /** @description What to draw. */
            readonly prompt: string;
            /** @description What the picture should not show; needs guidance above 1. */
            readonly negative_prompt?: string | undefined;
            /**
             * @description How both prompts are read. `weighted`: `(word:1.3)`, `(word)`, `[word]`, `BREAK` and `<lora:NAME:0.8>` as in the web UI of AUTOMATIC1111, and prompts of more than 75 tokens to their end. `plain`: every character is text, and 75 tokens are read. Default: that of the model.
             * @enum {string}
             */
            readonly prompt_syntax?: ("plain" | "weighted") | undefined;
            /** @description The layer of the text encoder that the picture is drawn from, counted from the last one, which is 1. Default: the model's; SDXL was trained with 2. */
            readonly clip_skip?: number | undefined;
            /** @description Pixels, a multiple of the model's size step. Default: that of the model; with `mask` or `expand`, that of a picture which is in the request or uploaded. A picture behind a URL is read too late for that. */
            readonly width?: number | undefined;
            /** @description As `width`. */
            readonly height?: number | undefined;
            /** @description Denoising steps. */
            readonly steps?: number | undefined;
            /** @description Classifier-free guidance scale; at 1 or below the negative prompt is not run. An LCM takes it without a negative prompt. */
            readonly guidance?: number | undefined;
            /** @description Seed of the first picture; picture i uses seed + i. Chosen at random when absent. */
            readonly seed?: number | undefined;
            /** @enum {string} */
            readonly sampler?: ("ddim" | "euler" | "euler_a" | "dpmpp_2m" | "dpmpp_2m_karras" | "dpmpp_2m_sde_karras" | "lcm" | "pndm" | "unipc") | undefined;
            /** @description SDXL only: condition of the model: height and width of the picture before scaling. Small values make it blurred. Default: its size. */
            readonly original_size?: readonly [
                number,
                number
            ] | undefined;
            /** @description SDXL only: condition of the model: top and left of the crop. Default: [0, 0], a centred object. */
            readonly crops_coords_top_left?: readonly [
                number,
                number
            ] | undefined;
            /** @description SDXL only: condition of the model: height and width of the picture. Default: its size. */
            readonly target_size?: readonly [
                number,
                number
            ] | undefined;
            /** @description The picture to begin at, stretched to the width and height of the job: PNG, JPEG or WebP as an http(s) URL, a `data:` URI, or the id or link of an uploaded file. In a workflow also `{{node.image}}`, the first picture of that node, or `{{node.latent}}`, its latent. A picture needs a model with a VAE encoder. */
            readonly image?: string | undefined;
            /** @description With `image`: how far the result may differ from it. `steps` times `strength` steps are made, at least one; 1 keeps almost nothing. */
            readonly strength?: number | undefined;
            /** @description With `image`, in place of `strength`: where in the schedule the steps begin, from 0 (noise) to 1. No noise is added, so this continues a `{{node.latent}}` that stopped there, as the refiner of SDXL does. */
            readonly denoising_start?: number | undefined;
            /** @description Where in the schedule the steps end; 1 for all of them. Below 1 the picture is still noisy, and its latent is a result, too: `latent_url`, and in a workflow `{{node.latent}}`. */
            readonly denoising_end?: number | undefined;
            /** @description A second pass at a larger size, in the same job: the picture has that size. */
            readonly hires?: {
                /** @description How many times as wide and high the picture becomes, rounded to the model's size step. Default 2. */
                readonly scale?: number | undefined;
                /** @description As `steps`, of the second pass, which makes `steps` times `strength` of them. Default: those of the first pass. */
                readonly steps?: number | undefined;
                /** @description How far the second pass may change the picture. Default 0.7 with `latent`, 0.4 with the others. */
                readonly strength?: number | undefined;
                /** @description `latent` interpolates the latent, which needs a strength above about 0.5. `lanczos` enlarges the pixels and needs a VAE encoder. The name of a model enlarges them with that, and Lanczos makes them exactly as large as wanted; the model's entry lists which `upscalers` it takes. Default: `latent`; with `mask` or `expand`, `lanczos`. */
                readonly upscaler?: string | undefined;
            } | undefined;
            /** @description Pictures that guide the drawing through ControlNets of the model. */
            readonly control?: readonly {
                /** @description A ControlNet that the model lists under `controls`. */
                readonly name: string;
                /** @description The picture that guides the drawing, given as `image` is, also as `{{node.image}}` in a workflow, and stretched to the width and height of the job. */
                readonly image: string;
                /** @description How strongly it guides: 0 not at all. Default: 1. */
                readonly scale?: number | undefined;
                /** @description The share of the steps after which it begins to guide. Default: 0. */
                readonly start?: number | undefined;
                /** @description The share of the steps after which it guides no more; above `start`. Default: 1. */
                readonly end?: number | undefined;
                /** @description What makes the control picture of `image`. `none`: it is one. `canny`: its edges, white on black. Or a model, one of those that the entry of the model names. Default: that of the ControlNet's entry. */
                readonly preprocess?: string | undefined;
            }[] | undefined;
            /** @description Adapters (LoRA) that act on this picture, several at once. With `prompt_syntax: weighted`, `<lora:NAME:0.8>` in `prompt` does the same. */
            readonly adapters?: readonly {
                /** @description One of the model's `adapters`. */
                readonly name: string;
                /** @description How strongly it acts: 1 as it was trained, 0 not at all, below 0 the opposite. Default: that of the model, which is 1 if models.yaml says nothing. */
                readonly scale?: number | undefined;
            }[] | undefined;
            /** @description With `image`: the part of it to draw again; the rest stays as it is. A picture of the size of `image`, given in the same ways: what is transparent is changed, or when nothing is, what is white; a grey value is a weight. */
            readonly mask?: string | undefined;
            /** @description With `mask`: what it marks is kept, and the rest of the picture drawn again. */
            readonly mask_invert?: boolean | undefined;
            /** @description With `mask` or `expand`: softens the edge by a Gaussian blur of so many pixels. Default: 0. */
            readonly mask_blur?: number | undefined;
            /**
             * @description With `mask` or `expand`: what the drawing begins at there: the picture as it is (around it, mirrored), pixels of noise, or noise in the latent.
             * @enum {string}
             */
            readonly mask_fill?: ("original" | "noise" | "latent_noise") | undefined;
            /** @description With `mask`: draws the part around the mask alone, with so many pixels of the picture as padding, at the size of the job, and puts it back into the picture, which keeps its own size. */
            readonly only_masked?: {
                /** @default 32 */
                readonly padding?: number | undefined;
            } | undefined;
            /** @description With `image` and without `mask`: draws so many pixels more on each side of it. The picture itself stays as it is. */
            readonly expand?: {
                /** @default 0 */
                readonly left?: number | undefined;
                /** @default 0 */
                readonly right?: number | undefined;
                /** @default 0 */
                readonly top?: number | undefined;
                /** @default 0 */
                readonly bottom?: number | undefined;
            } | undefined;
            /** @description How many pictures, each with its own seed. */
            readonly n?: number | undefined;
            /** @enum {string} */
            readonly output_format?: ("png" | "webp" | "jpeg") | undefined;
            /** @description Also write the prompt into the file's metadata. */
            readonly embed_prompt?: boolean | undefined;
        };
        readonly WebhookRequest: {
            /**
             * Format: uri
             * @description An https URL that the public Internet can reach, on port 443, without a user name.
             */
            readonly url: string;
            /** @description The events to send. Absent: the end of the job, whichever it is. */
            readonly events?: readonly ("job.queued" | "job.started" | "job.succeeded" | "job.failed" | "job.canceled" | "job.expired")[] | undefined;
        };
        readonly SpeechToTextInput: {
            /** @description An http(s) URL, a `data:` URI, or the link of an uploaded file. */
            readonly audio: string;
            /** @description Spoken language, ISO 639-1. Absent: detected. */
            readonly language?: string | undefined;
            /**
             * @description `translate` writes English, whatever language is spoken; needs a multilingual model.
             * @enum {string}
             */
            readonly task?: ("transcribe" | "translate") | undefined;
            /** @description Text that could precede the audio; sets names, spelling and style. */
            readonly prompt?: string | undefined;
            /** @description 0 decodes greedily, with sampling as the fallback. */
            readonly temperature?: number | undefined;
            /**
             * @description Granularity of the timestamps.
             * @enum {string}
             */
            readonly timestamps?: ("segment" | "word") | undefined;
            /**
             * @description Long audio. `sequential`: one window after the other, each prompted with the text before it. `fast`: cuts at silences and runs all windows at once.
             * @enum {string}
             */
            readonly mode?: ("sequential" | "fast") | undefined;
        };
        readonly PictureTransformInput: {
            /** @description The picture: PNG, JPEG or WebP as an http(s) URL, a `data:` URI, or the id or link of an uploaded file. In a workflow also `{{node.image}}`, the first picture of that node. */
            readonly image: string;
            /**
             * @description Of models that give a picture or a mask. Default: `png`.
             * @enum {string}
             */
            readonly output_format?: ("png" | "webp" | "jpeg") | undefined;
            /** @description Of models that give a picture: how many times as wide and high it becomes. Default: the model's own scale; another one is reached by Lanczos after the graph. */
            readonly scale?: number | undefined;
            /**
             * @description Of models that give a mask: the `mask` as a grey picture (default), or the `cutout`, which is the picture with the mask as its alpha, as PNG or WebP.
             * @enum {string}
             */
            readonly output?: ("mask" | "cutout") | undefined;
            /** @description Of models that give labels: how many, best first. Default: 5. */
            readonly top_k?: number | undefined;
        };
        readonly TextEmbeddingInput: {
            /** @description The texts to embed, or their token ids. */
            readonly texts: readonly (string | readonly number[])[];
            /** @description Cut texts that are longer than the model takes. Default: false, and such a text fails the job with `invalid-input`. */
            readonly truncate?: boolean | undefined;
            /** @description Scale each embedding to length 1. Default: as the model's own files say. */
            readonly normalize?: boolean | undefined;
            /** @description Keep only the first so many numbers of each embedding; a normalised one stays normalised. */
            readonly dimensions?: number | undefined;
        };
        readonly TextClassificationInput: {
            /** @description The texts to classify, or pairs of texts. */
            readonly texts: readonly (string | components["schemas"]["TextPair"])[];
            /** @description Cut texts that are longer than the model takes. Default: false, and such a text fails the job with `invalid-input`. */
            readonly truncate?: boolean | undefined;
            /** @description How many labels of each text, best first. Default: all. */
            readonly top_k?: number | undefined;
            /**
             * @description How scores are made of the model's logits. Default: as the model's configuration says: `sigmoid` for several labels per text or a single label, else `softmax`.
             * @enum {string}
             */
            readonly function?: ("softmax" | "sigmoid" | "none") | undefined;
        };
        readonly TextPair: {
            readonly text: string;
            readonly pair: string;
        };
        readonly FillMaskInput: {
            /** @description Texts with at least one mask token, as the model's tokenizer writes it. */
            readonly texts: readonly string[];
            /** @description Cut texts that are longer than the model takes. Default: false, and such a text fails the job with `invalid-input`. */
            readonly truncate?: boolean | undefined;
            /** @description How many tokens for each mask, best first. Default: 5. */
            readonly top_k?: number | undefined;
        };
        readonly TokenClassificationInput: {
            /** @description The texts whose entities are wanted. */
            readonly texts: readonly string[];
            /** @description Cut texts that are longer than the model takes. Default: false, and such a text fails the job with `invalid-input`. */
            readonly truncate?: boolean | undefined;
            /**
             * @description How tokens are merged into entities, as in transformers: `none` keeps tokens, `simple` joins neighbours of one label, `first`, `average` and `max` also give all tokens of a word one label. Default: `simple`.
             * @enum {string}
             */
            readonly aggregation?: ("none" | "simple" | "first" | "average" | "max") | undefined;
            /** @description Labels that are left out. Default: `["O"]`. */
            readonly ignore_labels?: readonly string[] | undefined;
        };
        readonly SpeechToImageInput: {
            /** @description What the picture should not show; needs guidance above 1. */
            readonly negative_prompt?: string | undefined;
            /**
             * @description How both prompts are read. `weighted`: `(word:1.3)`, `(word)`, `[word]`, `BREAK` and `<lora:NAME:0.8>` as in the web UI of AUTOMATIC1111, and prompts of more than 75 tokens to their end. `plain`: every character is text, and 75 tokens are read. Default: that of the model.
             * @enum {string}
             */
            readonly prompt_syntax?: ("plain" | "weighted") | undefined;
            /** @description The layer of the text encoder that the picture is drawn from, counted from the last one, which is 1. Default: the model's; SDXL was trained with 2. */
            readonly clip_skip?: number | undefined;
            /** @description Pixels, a multiple of the model's size step. Default: that of the model; with `mask` or `expand`, that of a picture which is in the request or uploaded. A picture behind a URL is read too late for that. */
            readonly width?: number | undefined;
            /** @description As `width`. */
            readonly height?: number | undefined;
            /** @description Denoising steps. */
            readonly steps?: number | undefined;
            /** @description Classifier-free guidance scale; at 1 or below the negative prompt is not run. An LCM takes it without a negative prompt. */
            readonly guidance?: number | undefined;
            /** @description Seed of the first picture; picture i uses seed + i. Chosen at random when absent. */
            readonly seed?: number | undefined;
            /** @enum {string} */
            readonly sampler?: ("ddim" | "euler" | "euler_a" | "dpmpp_2m" | "dpmpp_2m_karras" | "dpmpp_2m_sde_karras" | "lcm" | "pndm" | "unipc") | undefined;
            /** @description SDXL only: condition of the model: height and width of the picture before scaling. Small values make it blurred. Default: its size. */
            readonly original_size?: readonly [
                number,
                number
            ] | undefined;
            /** @description SDXL only: condition of the model: top and left of the crop. Default: [0, 0], a centred object. */
            readonly crops_coords_top_left?: readonly [
                number,
                number
            ] | undefined;
            /** @description SDXL only: condition of the model: height and width of the picture. Default: its size. */
            readonly target_size?: readonly [
                number,
                number
            ] | undefined;
            /** @description The picture to begin at, stretched to the width and height of the job: PNG, JPEG or WebP as an http(s) URL, a `data:` URI, or the id or link of an uploaded file. In a workflow also `{{node.image}}`, the first picture of that node, or `{{node.latent}}`, its latent. A picture needs a model with a VAE encoder. */
            readonly image?: string | undefined;
            /** @description With `image`: how far the result may differ from it. `steps` times `strength` steps are made, at least one; 1 keeps almost nothing. */
            readonly strength?: number | undefined;
            /** @description With `image`, in place of `strength`: where in the schedule the steps begin, from 0 (noise) to 1. No noise is added, so this continues a `{{node.latent}}` that stopped there, as the refiner of SDXL does. */
            readonly denoising_start?: number | undefined;
            /** @description Where in the schedule the steps end; 1 for all of them. Below 1 the picture is still noisy, and its latent is a result, too: `latent_url`, and in a workflow `{{node.latent}}`. */
            readonly denoising_end?: number | undefined;
            /** @description A second pass at a larger size, in the same job: the picture has that size. */
            readonly hires?: {
                /** @description How many times as wide and high the picture becomes, rounded to the model's size step. Default 2. */
                readonly scale?: number | undefined;
                /** @description As `steps`, of the second pass, which makes `steps` times `strength` of them. Default: those of the first pass. */
                readonly steps?: number | undefined;
                /** @description How far the second pass may change the picture. Default 0.7 with `latent`, 0.4 with the others. */
                readonly strength?: number | undefined;
                /** @description `latent` interpolates the latent, which needs a strength above about 0.5. `lanczos` enlarges the pixels and needs a VAE encoder. The name of a model enlarges them with that, and Lanczos makes them exactly as large as wanted; the model's entry lists which `upscalers` it takes. Default: `latent`; with `mask` or `expand`, `lanczos`. */
                readonly upscaler?: string | undefined;
            } | undefined;
            /** @description Pictures that guide the drawing through ControlNets of the model. */
            readonly control?: readonly {
                /** @description A ControlNet that the model lists under `controls`. */
                readonly name: string;
                /** @description The picture that guides the drawing, given as `image` is, also as `{{node.image}}` in a workflow, and stretched to the width and height of the job. */
                readonly image: string;
                /** @description How strongly it guides: 0 not at all. Default: 1. */
                readonly scale?: number | undefined;
                /** @description The share of the steps after which it begins to guide. Default: 0. */
                readonly start?: number | undefined;
                /** @description The share of the steps after which it guides no more; above `start`. Default: 1. */
                readonly end?: number | undefined;
                /** @description What makes the control picture of `image`. `none`: it is one. `canny`: its edges, white on black. Or a model, one of those that the entry of the model names. Default: that of the ControlNet's entry. */
                readonly preprocess?: string | undefined;
            }[] | undefined;
            /** @description Adapters (LoRA) that act on this picture, several at once. With `prompt_syntax: weighted`, `<lora:NAME:0.8>` in `prompt` does the same. */
            readonly adapters?: readonly {
                /** @description One of the model's `adapters`. */
                readonly name: string;
                /** @description How strongly it acts: 1 as it was trained, 0 not at all, below 0 the opposite. Default: that of the model, which is 1 if models.yaml says nothing. */
                readonly scale?: number | undefined;
            }[] | undefined;
            /** @description With `image`: the part of it to draw again; the rest stays as it is. A picture of the size of `image`, given in the same ways: what is transparent is changed, or when nothing is, what is white; a grey value is a weight. */
            readonly mask?: string | undefined;
            /** @description With `mask`: what it marks is kept, and the rest of the picture drawn again. */
            readonly mask_invert?: boolean | undefined;
            /** @description With `mask` or `expand`: softens the edge by a Gaussian blur of so many pixels. Default: 0. */
            readonly mask_blur?: number | undefined;
            /**
             * @description With `mask` or `expand`: what the drawing begins at there: the picture as it is (around it, mirrored), pixels of noise, or noise in the latent.
             * @enum {string}
             */
            readonly mask_fill?: ("original" | "noise" | "latent_noise") | undefined;
            /** @description With `mask`: draws the part around the mask alone, with so many pixels of the picture as padding, at the size of the job, and puts it back into the picture, which keeps its own size. */
            readonly only_masked?: {
                /** @default 32 */
                readonly padding?: number | undefined;
            } | undefined;
            /** @description With `image` and without `mask`: draws so many pixels more on each side of it. The picture itself stays as it is. */
            readonly expand?: {
                /** @default 0 */
                readonly left?: number | undefined;
                /** @default 0 */
                readonly right?: number | undefined;
                /** @default 0 */
                readonly top?: number | undefined;
                /** @default 0 */
                readonly bottom?: number | undefined;
            } | undefined;
            /** @description How many pictures, each with its own seed. */
            readonly n?: number | undefined;
            /** @enum {string} */
            readonly output_format?: ("png" | "webp" | "jpeg") | undefined;
            /** @description Also write the prompt into the file's metadata. */
            readonly embed_prompt?: boolean | undefined;
            /** @description An http(s) URL, a `data:` URI, or the link of an uploaded file. */
            readonly audio: string;
            /** @description Spoken language, ISO 639-1. Absent: detected. */
            readonly language?: string | undefined;
            /**
             * @description `translate` writes English, whatever language is spoken; needs a multilingual model.
             * @enum {string}
             */
            readonly task?: ("transcribe" | "translate") | undefined;
        };
        readonly WorkflowNode: {
            /** @description Other nodes refer to it by this name. */
            readonly id: string;
            readonly model?: string | undefined;
            /** @enum {string} */
            readonly type: "text-to-image";
            readonly input: components["schemas"]["TextToImageInput"];
        } | {
            /** @description Other nodes refer to it by this name. */
            readonly id: string;
            readonly model?: string | undefined;
            /** @enum {string} */
            readonly type: "speech-to-text";
            readonly input: components["schemas"]["SpeechToTextInput"];
        } | {
            /** @description Other nodes refer to it by this name. */
            readonly id: string;
            readonly model?: string | undefined;
            /** @enum {string} */
            readonly type: "picture-transform";
            readonly input: components["schemas"]["PictureTransformInput"];
        } | {
            /** @description Other nodes refer to it by this name. */
            readonly id: string;
            readonly model?: string | undefined;
            /** @enum {string} */
            readonly type: "text-embedding";
            readonly input: components["schemas"]["TextEmbeddingInput"];
        } | {
            /** @description Other nodes refer to it by this name. */
            readonly id: string;
            readonly model?: string | undefined;
            /** @enum {string} */
            readonly type: "text-classification";
            readonly input: components["schemas"]["TextClassificationInput"];
        } | {
            /** @description Other nodes refer to it by this name. */
            readonly id: string;
            readonly model?: string | undefined;
            /** @enum {string} */
            readonly type: "fill-mask";
            readonly input: components["schemas"]["FillMaskInput"];
        } | {
            /** @description Other nodes refer to it by this name. */
            readonly id: string;
            readonly model?: string | undefined;
            /** @enum {string} */
            readonly type: "token-classification";
            readonly input: components["schemas"]["TokenClassificationInput"];
        };
        readonly JobList: {
            readonly data: readonly components["schemas"]["Job"][];
            /** @description For `?cursor=`; null on the last page. */
            readonly next_cursor: string | null;
            readonly has_more: boolean;
        };
        readonly JobEvent: {
            /** @enum {string} */
            readonly type: "job.scheduled";
            /** Format: date-time */
            readonly timestamp: string;
            readonly data: {
                readonly id: string;
                /** @enum {string} */
                readonly status: "scheduled";
            };
        } | {
            /** @enum {string} */
            readonly type: "job.queued";
            /** Format: date-time */
            readonly timestamp: string;
            readonly data: {
                readonly id: string;
                /** @enum {string} */
                readonly status: "queued";
            };
        } | {
            /** @enum {string} */
            readonly type: "job.started";
            /** Format: date-time */
            readonly timestamp: string;
            readonly data: {
                readonly id: string;
                /** @enum {string} */
                readonly status: "running";
            };
        } | {
            /** @enum {string} */
            readonly type: "job.progress";
            /** Format: date-time */
            readonly timestamp: string;
            readonly data: {
                readonly id: string;
                readonly fraction: number;
                /** @enum {string} */
                readonly stage: "text" | "denoise" | "decode" | "upload" | "audio" | "transcribe" | "transform" | "nodes";
                readonly step: number;
                readonly steps: number;
            };
        } | {
            /** @enum {string} */
            readonly type: "job.preview";
            /** Format: date-time */
            readonly timestamp: string;
            readonly data: components["schemas"]["Preview"];
        } | {
            /** @enum {string} */
            readonly type: "job.output";
            /** Format: date-time */
            readonly timestamp: string;
            readonly data: {
                readonly id: string;
                /** @description The new part; all parts joined are the whole text. */
                readonly text: string;
                /** @description Characters before this part. It falls back when the job starts again after its worker was lost. */
                readonly offset: number;
            };
        } | {
            /** @enum {string} */
            readonly type: "job.succeeded";
            /** Format: date-time */
            readonly timestamp: string;
            readonly data: components["schemas"]["Job"];
        } | {
            /** @enum {string} */
            readonly type: "job.failed";
            /** Format: date-time */
            readonly timestamp: string;
            readonly data: components["schemas"]["Job"];
        } | {
            /** @enum {string} */
            readonly type: "job.canceled";
            /** Format: date-time */
            readonly timestamp: string;
            readonly data: components["schemas"]["Job"];
        } | {
            /** @enum {string} */
            readonly type: "job.expired";
            /** Format: date-time */
            readonly timestamp: string;
            readonly data: components["schemas"]["Job"];
        };
        readonly Preview: {
            /** @description The job of the picture: this one, or one of its nodes. */
            readonly id: string;
            readonly step: number;
            readonly steps: number;
            /** @description Which picture of the job. */
            readonly index: number;
            readonly content_type: string;
            /** @description An image of at most 64 x 64 pixels. */
            readonly data: string;
        };
        readonly DeliveryLog: {
            /** @description Oldest first. */
            readonly deliveries: readonly components["schemas"]["Delivery"][];
            /** @description Oldest first; the last 100. */
            readonly attempts: readonly components["schemas"]["DeliveryAttempt"][];
        };
        readonly Delivery: {
            /** @description The same on every attempt and redelivery. */
            readonly webhook_id: string;
            readonly event: string;
            readonly url: string;
            /**
             * @description `failed`: every attempt was used; `gone`: the receiver answered 410 and gets no more deliveries.
             * @enum {string}
             */
            readonly state: "pending" | "delivered" | "failed" | "gone";
            /** Format: date-time */
            readonly created_at: string;
            /** @description Attempts since the delivery was created or sent again. */
            readonly attempts: number;
            /** Format: date-time */
            readonly next_attempt_at: string | null;
        };
        readonly DeliveryAttempt: {
            readonly webhook_id: string;
            readonly event: string;
            /** Format: date-time */
            readonly at: string;
            /** @description HTTP status of the answer; null when there was none. */
            readonly status: number | null;
            readonly ms: number;
            /** @description The first 1 kB of the body. */
            readonly answer: string;
            /** @description Why there was no answer. */
            readonly error: string | null;
        };
        readonly JobActionCount: {
            /** @enum {string} */
            readonly object: "job_action_count";
            /** @description How many jobs matched when the request was made. */
            readonly count: number;
            /** @description False: at least so many, counting took too long. */
            readonly count_is_exact: boolean;
        };
        readonly JobAction: {
            readonly id: string;
            /** @enum {string} */
            readonly object: "job_action";
            /**
             * @description A job in a state that the action does not apply to is skipped: `cancel` is for jobs that have not ended, `retry` and `delete` for those that have, `prioritize` for those that wait. Jobs that were retried before are not retried again, and workflows are neither retried nor given a priority.
             * @enum {string}
             */
            readonly action: "cancel" | "retry" | "delete" | "prioritize";
            /** @enum {string|null} */
            readonly priority: "interactive" | "standard" | "bulk" | null;
            readonly filter: components["schemas"]["JobFilter"];
            /**
             * @description `failed`: the key that asked for it is no longer valid, or may not do it any more.
             * @enum {string}
             */
            readonly status: "running" | "canceling" | "completed" | "canceled" | "failed";
            /**
             * Format: date-time
             * @description Jobs that were made later are not touched.
             */
            readonly created_at: string;
            /** Format: date-time */
            readonly ended_at: string | null;
            /** @description How many jobs matched when the request was made. */
            readonly count: number;
            /** @description False: at least so many, counting took too long. */
            readonly count_is_exact: boolean;
            /** @description Jobs that were found so far. */
            readonly matched: number;
            readonly done: number;
            /** @description The action does not apply to them. */
            readonly skipped: number;
            readonly failed: number;
            /** @description Of those that failed, by code. */
            readonly errors: readonly {
                /** @enum {string} */
                readonly code: "invalid-request" | "unauthenticated" | "forbidden" | "not-found" | "model-not-found" | "method-not-allowed" | "too-slow" | "conflict" | "gone" | "too-large" | "unsupported-media" | "invalid-input" | "idempotency-mismatch" | "rate-limited" | "overloaded" | "unavailable" | "hold-expired" | "internal" | "engine-crashed" | "engine-failed" | "numeric-error" | "out-of-memory" | "model-unavailable" | "storage-failed" | "attempts-exhausted" | "run-too-long" | "deadline-exceeded" | "invalid-audio" | "unsafe-picture" | "node-failed";
                /** @description Jobs that failed with this code. */
                readonly count: number;
                /** @description The first one. */
                readonly job: string;
                /** @description What was wrong with that one. */
                readonly detail: string;
            }[];
        };
        /** @description As in `GET /v1/jobs`. A job matches that has all of it. */
        readonly JobFilter: {
            /** @enum {string} */
            readonly status?: ("scheduled" | "queued" | "running" | "succeeded" | "failed" | "canceled" | "expired") | undefined;
            /** @enum {string} */
            readonly type?: ("text-to-image" | "speech-to-text" | "speech-to-image" | "text-embedding" | "text-classification" | "fill-mask" | "token-classification" | "picture-transform" | "workflow") | undefined;
            /** @description `name` or `name@version`. */
            readonly model?: string | undefined;
            /**
             * @description Of a failed job: its error has this code.
             * @enum {string}
             */
            readonly error_code?: ("invalid-request" | "unauthenticated" | "forbidden" | "not-found" | "model-not-found" | "method-not-allowed" | "too-slow" | "conflict" | "gone" | "too-large" | "unsupported-media" | "invalid-input" | "idempotency-mismatch" | "rate-limited" | "overloaded" | "unavailable" | "hold-expired" | "internal" | "engine-crashed" | "engine-failed" | "numeric-error" | "out-of-memory" | "model-unavailable" | "storage-failed" | "attempts-exhausted" | "run-too-long" | "deadline-exceeded" | "invalid-audio" | "unsafe-picture" | "node-failed") | undefined;
            /**
             * Format: date-time
             * @description Made at this time or later.
             */
            readonly created_after?: string | undefined;
            /**
             * Format: date-time
             * @description Made before this time.
             */
            readonly created_before?: string | undefined;
            /** @description Words of the job: its text, that of a node, its texts or its transcript contain this. The letters a to z are found in any case. */
            readonly text?: string | undefined;
            /** @description Labels of the job with their values. With several, the job has all of them. */
            readonly metadata?: {
                readonly [key: string]: string;
            } | undefined;
        };
        readonly JobActionRequest: {
            /**
             * @description A job in a state that the action does not apply to is skipped: `cancel` is for jobs that have not ended, `retry` and `delete` for those that have, `prioritize` for those that wait. Jobs that were retried before are not retried again, and workflows are neither retried nor given a priority.
             * @enum {string}
             */
            readonly action: "cancel" | "retry" | "delete" | "prioritize";
            /**
             * @description Of `prioritize`, and only of it: the new one.
             * @enum {string}
             */
            readonly priority?: ("interactive" | "standard" | "bulk") | undefined;
            readonly filter: components["schemas"]["JobFilter"];
            /**
             * @description Required with a filter that every job matches.
             * @enum {boolean}
             */
            readonly all?: true | undefined;
            /**
             * @description Only counts the jobs that match.
             * @default false
             */
            readonly dry_run?: boolean | undefined;
            /** @description Whose jobs. Another tenant than that of the key needs the scope `admin`. */
            readonly tenant?: string | undefined;
        };
        readonly JobActionList: {
            readonly data: readonly components["schemas"]["JobAction"][];
        };
        readonly BatchEstimate: {
            /** @enum {string} */
            readonly object: "batch.estimate";
            /** @description The jobs that the batch would have. */
            readonly total: number;
            /** @description How many different ones were priced: of a sweep, combinations of model, adapters, sampler, steps and guidance. */
            readonly priced: number;
            /** @description There are more, and these are spread evenly over them. */
            readonly is_sample: boolean;
            /** @description Of those that were priced, how many would be refused. */
            readonly refused: number;
            /** @description About how many seconds of one device all jobs take, by the speeds that the workers have measured. */
            readonly device_s: number;
            /** @description As long as the workers that serve the models now would need for it, if they did nothing else. Null when a model has none. */
            readonly duration_s: number | null;
            /** @description Of the device time, at the price now in force. Absent when the operator states none. */
            readonly price?: number | undefined;
            readonly currency?: string | undefined;
        };
        readonly BatchRequest: {
            /** @description A file of JSON lines, uploaded with the purpose `batch`: `{custom_id, method, url, body}`. */
            readonly input_file_id?: string | undefined;
            /**
             * @description Of all lines of the file. Requests and sweeps are for `/v1/jobs`.
             * @default /v1/jobs
             * @enum {string}
             */
            readonly endpoint?: ("/v1/jobs" | "/v1/images/generations" | "/v1/images/edits" | "/v1/audio/transcriptions" | "/v1/embeddings") | undefined;
            /** @description The jobs themselves, in place of a file. */
            readonly requests?: readonly components["schemas"]["JobRequest"][] | undefined;
            readonly sweep?: components["schemas"]["Sweep"] | undefined;
            /**
             * @description What is not done by then is not run.
             * @default 24h
             */
            readonly completion_window?: string | undefined;
            /**
             * @description Of the jobs whose request names none.
             * @default bulk
             * @enum {string}
             */
            readonly priority?: ("interactive" | "standard" | "bulk") | undefined;
            /** @description Gets one event when the batch has ended: `batch.` and its status, with the batch. */
            readonly webhook?: {
                /**
                 * Format: uri
                 * @description An https URL that the public Internet can reach, on port 443, without a user name.
                 */
                readonly url: string;
            } | undefined;
            /**
             * @description Only says what the batch would take, as a BatchEstimate. Nothing is made.
             * @default false
             */
            readonly dry_run?: boolean | undefined;
            /** @description Your own labels, at most 32; returned unchanged. */
            readonly metadata?: ({
                readonly [key: string]: string;
            } | null) | undefined;
            readonly output_expires_after?: unknown | undefined;
        };
        readonly Sweep: {
            /** @description What all jobs share: a JobRequest, which may lack what has a list of values. */
            readonly request: {
                readonly [key: string]: unknown;
            };
            /** @description Lists of values: every combination is one job. `model` replaces that of the request, the others the field of its input. The last of the lists that are given varies fastest, in the order model, adapters, prompt, sampler, steps, guidance, seed. */
            readonly values: {
                readonly model?: readonly string[] | undefined;
                readonly adapters?: readonly (readonly {
                    /** @description One of the model's `adapters`. */
                    readonly name: string;
                    /** @description How strongly it acts: 1 as it was trained, 0 not at all, below 0 the opposite. Default: that of the model, which is 1 if models.yaml says nothing. */
                    readonly scale?: number | undefined;
                }[])[] | undefined;
                readonly prompt?: readonly string[] | undefined;
                readonly sampler?: readonly ("ddim" | "euler" | "euler_a" | "dpmpp_2m" | "dpmpp_2m_karras" | "dpmpp_2m_sde_karras" | "lcm" | "pndm" | "unipc")[] | undefined;
                readonly steps?: readonly number[] | undefined;
                readonly guidance?: readonly number[] | undefined;
                readonly seed?: readonly number[] | undefined;
            };
        };
        readonly BatchList: {
            /** @enum {string} */
            readonly object: "list";
            readonly data: readonly components["schemas"]["Batch"][];
            readonly first_id: string | null;
            readonly last_id: string | null;
            readonly has_more: boolean;
        };
        readonly BatchEvent: {
            /** @enum {string} */
            readonly type: "batch.progress" | "batch.completed" | "batch.failed" | "batch.expired" | "batch.cancelled";
            /** Format: date-time */
            readonly timestamp: string;
            readonly data: components["schemas"]["Batch"];
        };
        readonly BatchLineList: {
            readonly data: readonly components["schemas"]["BatchLine"][];
            readonly next_cursor: string | null;
            readonly has_more: boolean;
        };
        readonly BatchLine: {
            /** @description Its number in the batch, from 1. */
            readonly line: number;
            readonly custom_id: string;
            /** @description Of a sweep: the value of each list that this line has. */
            readonly values?: {
                readonly [key: string]: unknown;
            } | undefined;
            readonly job?: components["schemas"]["Job"] | undefined;
            /** @description Why there is no job. */
            readonly error?: {
                readonly code: string;
                readonly message: string;
            } | undefined;
        };
        readonly Schedule: {
            readonly id: string;
            /** @enum {string} */
            readonly object: "schedule";
            readonly name: string;
            readonly cron: string | null;
            readonly timezone: string | null;
            readonly every_s: number | null;
            readonly request: components["schemas"]["JobRequest"];
            /**
             * @description Of the runs that were due while nothing could make them: none, only the last one, or all of the last 100. Default: `last`.
             * @enum {string}
             */
            readonly catch_up: "none" | "last" | "all";
            /**
             * @description `skip`: no run while the job of the one before has not ended. Default: `allow`.
             * @enum {string}
             */
            readonly overlap: "allow" | "skip";
            /**
             * @description `ended`: the key that made it is no longer valid. A change with another key of the tenant lets it go on with that key.
             * @enum {string}
             */
            readonly status: "active" | "paused" | "ended";
            /** Format: date-time */
            readonly created_at: string;
            /** @description The next five. */
            readonly next_runs: readonly string[];
            /** @description At most ten, newest first. */
            readonly last_runs: readonly {
                /**
                 * Format: date-time
                 * @description When it was due.
                 */
                readonly at: string;
                readonly job: string | null;
                /**
                 * @description The state of its job; `gone`: its record was deleted; `refused`: the job was, with the error; `skipped`: the one before had not ended; `missed`: this run and perhaps others after it were not made up for.
                 * @enum {string}
                 */
                readonly status: "scheduled" | "queued" | "running" | "succeeded" | "failed" | "canceled" | "expired" | "gone" | "refused" | "skipped" | "missed";
                readonly error: {
                    /** @enum {string} */
                    readonly code: "invalid-request" | "unauthenticated" | "forbidden" | "not-found" | "model-not-found" | "method-not-allowed" | "too-slow" | "conflict" | "gone" | "too-large" | "unsupported-media" | "invalid-input" | "idempotency-mismatch" | "rate-limited" | "overloaded" | "unavailable" | "hold-expired" | "internal" | "engine-crashed" | "engine-failed" | "numeric-error" | "out-of-memory" | "model-unavailable" | "storage-failed" | "attempts-exhausted" | "run-too-long" | "deadline-exceeded" | "invalid-audio" | "unsafe-picture" | "node-failed";
                    readonly detail: string;
                } | null;
            }[];
        };
        /** @description `request` is the body of `POST /v1/jobs`, without `run_at` and `delay_s`. */
        readonly ScheduleRequest: {
            /** @description For people. */
            readonly name: string;
            /** @description Minute, hour, day of the month, month, day of the week. Give this or `every_s`. */
            readonly cron?: string | undefined;
            /** @description Of `cron`: a name of the IANA database. Default: UTC. */
            readonly timezone?: string | undefined;
            /** @description Seconds from run to run. */
            readonly every_s?: number | undefined;
            readonly request: components["schemas"]["JobRequest"];
            /**
             * @description Of the runs that were due while nothing could make them: none, only the last one, or all of the last 100. Default: `last`.
             * @default last
             * @enum {string}
             */
            readonly catch_up?: ("none" | "last" | "all") | undefined;
            /**
             * @description `skip`: no run while the job of the one before has not ended. Default: `allow`.
             * @default allow
             * @enum {string}
             */
            readonly overlap?: ("allow" | "skip") | undefined;
            /**
             * @description Makes no jobs. When it goes on, it makes up for nothing.
             * @default false
             */
            readonly paused?: boolean | undefined;
        };
        readonly ScheduleList: {
            readonly data: readonly components["schemas"]["Schedule"][];
        };
        readonly ScheduleChange: {
            /** @description For people. */
            readonly name?: string | undefined;
            /** @description Minute, hour, day of the month, month, day of the week. Give this or `every_s`. */
            readonly cron?: string | undefined;
            /** @description Of `cron`: a name of the IANA database. Default: UTC. */
            readonly timezone?: string | undefined;
            /** @description Seconds from run to run. */
            readonly every_s?: number | undefined;
            readonly request?: components["schemas"]["JobRequest"] | undefined;
            /**
             * @description Of the runs that were due while nothing could make them: none, only the last one, or all of the last 100. Default: `last`.
             * @enum {string}
             */
            readonly catch_up?: ("none" | "last" | "all") | undefined;
            /**
             * @description `skip`: no run while the job of the one before has not ended. Default: `allow`.
             * @enum {string}
             */
            readonly overlap?: ("allow" | "skip") | undefined;
            /** @description Makes no jobs. When it goes on, it makes up for nothing. */
            readonly paused?: boolean | undefined;
        };
        readonly Model: {
            readonly id: string;
            /** @description Other names by which requests may call it. */
            readonly aliases: readonly string[];
            /** @enum {string} */
            readonly object: "model";
            /** @description Unix seconds: when the list of models last changed. */
            readonly created: number;
            /** @enum {string} */
            readonly owned_by: "lehr";
            /** @description What it is for, in a sentence for people. */
            readonly description?: string | undefined;
            /** @description Runs the jobs of its task that name no model. */
            readonly default: boolean;
            readonly versions: readonly {
                readonly version: string;
                /** @description Share of the jobs that name no version. */
                readonly weight: number;
            }[];
            /** @enum {string} */
            readonly task: "text-to-image";
            /**
             * @description Stable Diffusion 1.x and 2.x, XL, and their Turbo and LCM forms, which draw in a few steps.
             * @enum {string}
             */
            readonly family: "sd" | "sd-turbo" | "lcm" | "sdxl" | "sdxl-turbo" | "sdxl-lcm" | "sdxl-refiner" | "sd-inpaint" | "sdxl-inpaint";
            readonly defaults: {
                readonly width: number;
                readonly height: number;
                readonly steps: number;
                readonly guidance: number;
                /** @enum {string} */
                readonly sampler: "ddim" | "euler" | "euler_a" | "dpmpp_2m" | "dpmpp_2m_karras" | "dpmpp_2m_sde_karras" | "lcm" | "pndm" | "unipc";
                /** @enum {string} */
                readonly prompt_syntax: "plain" | "weighted";
                readonly clip_skip: number;
            };
            readonly limits: {
                readonly min_size: number;
                readonly max_size: number;
                /** @description Width and height are multiples of this. */
                readonly size_step: number;
                readonly max_pixels: number;
                readonly max_steps: number;
                readonly max_samples: number;
                /** @description Width x height x pictures x steps of one job. */
                readonly max_work: number;
                /** @description Tokens that the model reads of a plain prompt, the start and the end of the text included; the rest of a longer one is left out. Absent while no worker has the model open. */
                readonly max_prompt_tokens?: number | undefined;
            };
            readonly samplers: readonly ("ddim" | "euler" | "euler_a" | "dpmpp_2m" | "dpmpp_2m_karras" | "dpmpp_2m_sde_karras" | "lcm" | "pndm" | "unipc")[];
            /** @description Adapters (LoRA) that requests may use. */
            readonly adapters: readonly {
                readonly name: string;
                /** @description Words that the prompt needs for it to act. */
                readonly trigger: readonly string[];
                /** @description How strongly it acts when a request does not say. */
                readonly scale: number;
                /** @description What it does. */
                readonly description?: string | undefined;
            }[];
            /** @description ControlNets that requests may use. */
            readonly controls: readonly {
                readonly name: string;
                /** @description What makes its control picture when a request does not say: none, canny or a model. */
                readonly preprocess: string;
                /** @description What it does. */
                readonly description?: string | undefined;
            }[];
        } | {
            readonly id: string;
            /** @description Other names by which requests may call it. */
            readonly aliases: readonly string[];
            /** @enum {string} */
            readonly object: "model";
            /** @description Unix seconds: when the list of models last changed. */
            readonly created: number;
            /** @enum {string} */
            readonly owned_by: "lehr";
            /** @description What it is for, in a sentence for people. */
            readonly description?: string | undefined;
            /** @description Runs the jobs of its task that name no model. */
            readonly default: boolean;
            readonly versions: readonly {
                readonly version: string;
                /** @description Share of the jobs that name no version. */
                readonly weight: number;
            }[];
            /** @enum {string} */
            readonly task: "speech-to-text";
            readonly limits: {
                /** @description Seconds of audio in one file. */
                readonly max_audio_s: number;
            };
        } | {
            readonly id: string;
            /** @description Other names by which requests may call it. */
            readonly aliases: readonly string[];
            /** @enum {string} */
            readonly object: "model";
            /** @description Unix seconds: when the list of models last changed. */
            readonly created: number;
            /** @enum {string} */
            readonly owned_by: "lehr";
            /** @description What it is for, in a sentence for people. */
            readonly description?: string | undefined;
            /** @description Runs the jobs of its task that name no model. */
            readonly default: boolean;
            readonly versions: readonly {
                readonly version: string;
                /** @description Share of the jobs that name no version. */
                readonly weight: number;
            }[];
            /** @enum {string} */
            readonly task: "text";
            /** @description The types of jobs that the model runs. */
            readonly tasks: readonly ("text-embedding" | "text-classification" | "fill-mask" | "token-classification")[];
            readonly limits: {
                /** @description Texts of one job. */
                readonly max_texts: number;
            };
        } | {
            readonly id: string;
            /** @description Other names by which requests may call it. */
            readonly aliases: readonly string[];
            /** @enum {string} */
            readonly object: "model";
            /** @description Unix seconds: when the list of models last changed. */
            readonly created: number;
            /** @enum {string} */
            readonly owned_by: "lehr";
            /** @description What it is for, in a sentence for people. */
            readonly description?: string | undefined;
            /** @description Runs the jobs of its task that name no model. */
            readonly default: boolean;
            readonly versions: readonly {
                readonly version: string;
                /** @description Share of the jobs that name no version. */
                readonly weight: number;
            }[];
            /** @enum {string} */
            readonly task: "picture-transform";
            /**
             * @description What it gives: a picture, a mask (a grey value per pixel), or labels with scores.
             * @enum {string}
             */
            readonly result: "picture" | "mask" | "class";
            /** @description How many times as wide and high a picture becomes. */
            readonly scale: number;
            readonly limits: {
                /** @description Of the picture that is sent. */
                readonly max_pixels: number;
            };
        };
        readonly OpenAiFile: {
            readonly id: string;
            /** @enum {string} */
            readonly object: "file";
            /** @description The output of a batch is counted when it is first read or asked for; 0 until it is read where that takes longer than a second. */
            readonly bytes: number;
            /** @description Unix seconds. */
            readonly created_at: number;
            /** @description Unix seconds. */
            readonly expires_at: number;
            readonly filename: string;
            /** @enum {string} */
            readonly purpose: "batch" | "vision" | "user_data" | "batch_output";
            /** @enum {string} */
            readonly status: "processed";
            readonly status_details: null;
        };
        readonly File: {
            readonly id: string;
            readonly name: string;
            readonly content_type: string;
            /** @description Bytes. */
            readonly size: number;
            readonly etag: string;
            readonly checksums: {
                readonly sha256: string;
            };
            readonly metadata: {
                readonly [key: string]: unknown;
            };
            /** Format: date-time */
            readonly created_at: string;
            /** Format: date-time */
            readonly expires_at: string;
            readonly urls: {
                /**
                 * Format: uri
                 * @description The link for the input of a job.
                 */
                readonly get: string;
            };
        };
        readonly OpenAiFileList: {
            /** @enum {string} */
            readonly object: "list";
            readonly data: readonly components["schemas"]["OpenAiFile"][];
            readonly first_id: string | null;
            readonly last_id: string | null;
            readonly has_more: boolean;
        };
        readonly OpenAiDeletedFile: {
            readonly id: string;
            /** @enum {string} */
            readonly object: "file";
            /** @enum {boolean} */
            readonly deleted: true;
        };
        readonly ReplicateModel: {
            /** Format: uri */
            readonly url: string;
            /** @enum {string} */
            readonly owner: "lehr";
            readonly name: string;
            /** @enum {string} */
            readonly visibility: "private";
            readonly run_count: number;
            readonly description: null;
            readonly github_url: null;
            readonly paper_url: null;
            readonly license_url: null;
            readonly cover_image_url: null;
            readonly default_example: null;
            readonly latest_version: components["schemas"]["ReplicateVersion"];
        };
        readonly ReplicateVersion: {
            /** @description `model@version`. */
            readonly id: string;
            /** Format: date-time */
            readonly created_at: string;
            /** @description The version of Cog whose rules `openapi_schema` follows. Lehr does not use Cog. */
            readonly cog_version: string;
            /** @description An OpenAPI document with the schemas `Input` and `Output` of a prediction. */
            readonly openapi_schema: {
                readonly [key: string]: unknown;
            };
        };
        readonly ModelList: {
            /** @enum {string} */
            readonly object: "list";
            readonly data: readonly components["schemas"]["Model"][];
            readonly results: readonly components["schemas"]["ReplicateModel"][];
            readonly next: null;
            readonly previous: null;
        };
        readonly QueueList: {
            /** @enum {string} */
            readonly object: "list";
            readonly data: readonly components["schemas"]["Queue"][];
            /** @description Every offered model version, with the worst breaker of its groups. */
            readonly models: readonly {
                readonly model: string;
                readonly workers: number;
                /**
                 * @description Whether new jobs are taken: of every class (`closed`), only of the more urgent ones (`partly-open`), or none (`open`). A job is refused with 503 when it would wait longer than LEHR_MAX_WAIT_S.
                 * @enum {string}
                 */
                readonly breaker: "closed" | "partly-open" | "open";
                /** @description Whether no job of it is claimed, because an operator has paused it. */
                readonly paused: boolean;
                /** @description Why a live worker cannot open the model; null when all that should serve it do. */
                readonly problem: string | null;
                /** @description Live workers that do not have the model loaded and load it when jobs wait, because they have a memory budget. */
                readonly can_load: number;
                /** @description How long each part of making the model ready took, as a worker measured it last: fetching its folder, loading its graphs, its warm-up, and the first job after that, from its claim to its end. A part that was not measured is absent. */
                readonly load_ms: {
                    readonly pull?: number | undefined;
                    readonly open?: number | undefined;
                    readonly "warm-up"?: number | undefined;
                    readonly "first-answer"?: number | undefined;
                };
                /** @description By how much the memory of a worker grew when it opened the model, without that of a GPU; null if unknown. */
                readonly bytes: number | null;
            }[];
            /** @description Tenants of which no job is claimed: all for a key with the scope `admin`, else at most your own. */
            readonly paused_tenants: readonly string[];
            /** @description Live workers that claim no jobs because their engine failed one after the other. */
            readonly quarantined: readonly {
                readonly worker: string;
                readonly reason: string;
            }[];
        };
        readonly Queue: {
            readonly name: string;
            /** @enum {string} */
            readonly task: "diffusion" | "whisper" | "text" | "transform";
            /** @description `name@version`. */
            readonly model: string;
            readonly waiting: number;
            readonly running: number;
            /** @description Age of the oldest waiting job. */
            readonly oldest_age_ms: number | null;
            /** @description Live workers that serve the group. */
            readonly workers: number;
            /** @description Estimated wait of a new job of each class; null without workers, and while it is paused. */
            readonly wait_ms: {
                readonly interactive?: number | undefined;
                readonly standard?: number | undefined;
                readonly bulk?: number | undefined;
            } | null;
            /**
             * @description Whether new jobs are taken: of every class (`closed`), only of the more urgent ones (`partly-open`), or none (`open`). A job is refused with 503 when it would wait longer than LEHR_MAX_WAIT_S.
             * @enum {string}
             */
            readonly breaker: "closed" | "partly-open" | "open";
            /** @description Whether no job of it is claimed, because an operator has paused it. */
            readonly paused: boolean;
            /** @description The running batches of the group. */
            readonly lanes: readonly {
                /** @description With a key of the scope `admin`, it starts with the host name of the worker. */
                readonly worker: string;
                readonly samples: number;
                readonly rows: number;
                readonly row_cap: number;
                readonly row_steps_per_s: number;
            }[];
        };
        readonly Activity: {
            /** @enum {string} */
            readonly object: "activity";
            /** @description When it was read; one reading serves all callers for a second. */
            readonly at: string;
            readonly workers: readonly {
                readonly id: string;
                /** @enum {string} */
                readonly state: "serving" | "draining" | "quarantined";
                /** @description Providers of ONNX Runtime. */
                readonly devices: readonly string[];
                readonly models: readonly string[];
                /** @description Models that it is loading while it runs. */
                readonly loading: readonly string[];
                /** @description Models that it loads when jobs wait for them, because it has a memory budget. */
                readonly can_load: readonly string[];
                /** @description Models that it should serve and cannot open. */
                readonly unavailable: readonly string[];
                /** @description Why it cannot run all of its jobs. */
                readonly problem: string | null;
                /** @description The last death of its engine. */
                readonly last_error: {
                    readonly at: string;
                    readonly message: string;
                } | null;
            }[];
            /** @description The lanes that have samples or ran recently. */
            readonly lanes: readonly {
                readonly worker: string;
                readonly queue: string;
                /** @enum {string} */
                readonly task: "diffusion" | "whisper" | "text" | "transform";
                /** @description `name@version`. */
                readonly model: string;
                /** @description Of pictures. */
                readonly size: {
                    readonly width: number;
                    readonly height: number;
                } | null;
                /** @description A picture with guidance has two rows. */
                readonly rows: number;
                readonly row_cap: number;
                /** @description At most 128 of a worker. They follow a second or two after the first request. */
                readonly samples: readonly {
                    /** @description Stays the same while the sample runs. It names no job. */
                    readonly id: string;
                    /** @description Steps of a picture, seconds of audio, or texts that are done. */
                    readonly step: number;
                    readonly steps: number;
                    /** @description Null for a sample of another tenant. */
                    readonly job: string | null;
                }[];
                /** @description Samples that `samples` does not have. */
                readonly more_samples: number;
                /** @description Mean rows that shared a call of the model in the last second, or up to three seconds before the first answer; null without calls. */
                readonly rows_per_call: number | null;
                readonly calls_per_s: number;
            }[];
            readonly waiting: {
                /** @description Estimated engine time of all waiting jobs. */
                readonly ms: number;
                /** @description The part of your tenant. */
                readonly own_ms: number;
                /** @description The 32 with the most engine time. */
                readonly queues: readonly {
                    readonly queue: string;
                    /** @enum {string} */
                    readonly task: "diffusion" | "whisper" | "text" | "transform";
                    readonly model: string;
                    readonly size: {
                        readonly width: number;
                        readonly height: number;
                    } | null;
                    /** @description Whether none of these jobs is claimed, because an operator has paused the model. */
                    readonly paused: boolean;
                    readonly jobs: {
                        readonly interactive: number;
                        readonly standard: number;
                        readonly bulk: number;
                    };
                    /** @description The first 32 in line, in the order in which they are claimed. */
                    readonly next: readonly {
                        /** @enum {string} */
                        readonly priority: "interactive" | "standard" | "bulk";
                        readonly own: boolean;
                    }[];
                }[];
                readonly more_queues: number;
            };
        };
        readonly Scale: {
            /** @enum {string} */
            readonly object: "scale";
            readonly pool: string;
            /** @description How many workers the pool should have now. */
            readonly desired_workers: number;
            /**
             * @description Why: work `waiting` above its target, work `arriving`, work `running`, `holding` what was needed a short time ago, `idle` (no work), or the limit that decided: `min`, `max`, `budget`, `schedule`.
             * @enum {string}
             */
            readonly reason: "idle" | "waiting" | "arriving" | "running" | "holding" | "min" | "max" | "budget" | "schedule";
            readonly explanation: string;
            /** @description Of the models of the pool. */
            readonly workers: {
                /** @description Workers that take jobs. */
                readonly live: number;
                /** @description Workers whose process runs and that do not serve yet. */
                readonly starting: number;
                /** @description Workers that end their jobs and take no more. */
                readonly draining: number;
            };
            /** @description Jobs that live workers have in hand. */
            readonly running_jobs: number;
            /** @description Estimated engine seconds of the waiting jobs of each class. */
            readonly waiting_s: {
                readonly interactive: number;
                readonly standard: number;
                readonly bulk: number;
            };
            /** @description How long a worker takes until it serves: as measured, until then as configured. */
            readonly start_s: number;
            /** @description Which worker has no jobs, and so should be stopped first. */
            readonly members: readonly {
                readonly id: string;
                /** @enum {string} */
                readonly state: "starting" | "live" | "draining" | "quarantined";
                /** @description Jobs that it has in hand. */
                readonly jobs: number;
            }[];
        };
        readonly ChartList: {
            /** @enum {string} */
            readonly object: "charts";
            /**
             * @description Where the values come from; null when LEHR_PROMETHEUS_URL is not set, and `data` is then empty.
             * @enum {string|null}
             */
            readonly source: "prometheus" | null;
            /** @enum {string} */
            readonly range: "15m" | "1h" | "6h" | "24h" | "7d";
            /**
             * Format: date-time
             * @description The time of the first value.
             */
            readonly from: string;
            /** @description Seconds between two values. */
            readonly step_s: number;
            /** @description Values of each line. */
            readonly points: number;
            readonly data: readonly components["schemas"]["Chart"][];
        };
        readonly Chart: {
            /** @enum {string} */
            readonly name: "jobs" | "start" | "duration" | "outcomes" | "failures" | "rows" | "call" | "workers" | "redis" | "tenants";
            /** @enum {string} */
            readonly unit: "count" | "seconds" | "per_minute" | "ratio";
            /** @description The lines with the largest last values, at most 10. */
            readonly series: readonly {
                /** @description What this line is, such as a state or a model. */
                readonly name: string;
                /** @description One value for each point in time; null where there is none. */
                readonly values: readonly (number | null)[];
            }[];
            /** @description Lines that are left out. */
            readonly more_series: number;
            /** @description Why the chart could not be read; null when it was. */
            readonly problem: string | null;
        };
        readonly RolloutList: {
            /** @enum {string} */
            readonly object: "list";
            readonly data: readonly components["schemas"]["Rollout"][];
        };
        readonly Rollout: {
            /** @enum {string} */
            readonly object: "rollout";
            readonly id: string;
            readonly model: string;
            /** @enum {string} */
            readonly state: "running" | "paused" | "promoted" | "rolled-back";
            /** @description The version that was there before. */
            readonly stable: string;
            /** @description The version that is tried. */
            readonly canary: string;
            /** @description Per cent of the callers that get the canary while the rollout is running. */
            readonly weight: number;
            /** @enum {string} */
            readonly sticky_by: "key" | "tenant" | "job";
            /** Format: date-time */
            readonly created_at: string;
            /** Format: date-time */
            readonly changed_at: string;
            readonly changed_by: string | null;
            readonly reason: string | null;
            /** @description Live workers that serve each version, or load it when a job waits. */
            readonly workers: {
                readonly stable: number;
                readonly canary: number;
            };
            /** @description How the jobs of this rollout ended, by the version that it gave them. */
            readonly outcomes: {
                readonly stable: components["schemas"]["VersionOutcomes"];
                readonly canary: components["schemas"]["VersionOutcomes"];
            };
            readonly analysis: components["schemas"]["RolloutAnalysis"];
            /** @description What happened to the rollouts of this model, newest first, at most 100. */
            readonly history: readonly components["schemas"]["RolloutEvent"][];
        };
        readonly VersionOutcomes: {
            /** @description Jobs that ended, succeeded or failed. */
            readonly jobs: number;
            /** @description Those that failed by a fault of Lehr or of the model: errors with a status of 500 or more. */
            readonly failed: number;
            /** @description Failed jobs by the code of their error, those of callers included. */
            readonly failures: {
                readonly [key: string]: number;
            };
            /** @description The 95th percentile of device time, as a ratio to what a job of its size is expected to take alone; null without jobs. */
            readonly p95: number | null;
        };
        /** @description What Lehr decides by: the jobs posted since the share was changed or the rollout was paused. */
        readonly RolloutAnalysis: {
            readonly auto_rollback: boolean;
            readonly promote_after: number | null;
            readonly steps: readonly number[];
            /** @description Evidence from which on Lehr rolls the canary back. */
            readonly limit: number;
            /** @description How strongly the ended jobs speak against the canary; 1 or less says nothing. If the canary is not worse, each of the two ever reaches `limit` with a probability of at most 1 in `limit`. */
            readonly evidence: {
                readonly failures: number;
                readonly slowness: number;
            };
            readonly stable: components["schemas"]["EndedJobs"];
            readonly canary: components["schemas"]["EndedJobs"];
            /** @description Comparisons of device time between a job of the canary and one of the stable version. */
            readonly pairs: {
                /** @description The one of the canary took more than 1.25 times as long. */
                readonly slower: number;
                /** @description All others. */
                readonly faster: number;
            };
        };
        readonly EndedJobs: {
            /** @description Jobs that ended. */
            readonly jobs: number;
            /** @description Those that failed. */
            readonly failed: number;
        };
        readonly RolloutEvent: {
            /** Format: date-time */
            readonly at: string;
            /** @enum {string} */
            readonly action: "deployed" | "changed" | "paused" | "resumed" | "promoted" | "rolled-back" | "removed";
            /** @description The id of the key; `root` is the configured key, and `lehr` is Lehr itself. */
            readonly by: string | null;
            readonly reason: string | null;
            /** @description The id of the rollout. */
            readonly rollout: string;
            readonly stable: string;
            readonly canary: string;
            readonly weight: number;
            /** @enum {string} */
            readonly state: "running" | "paused" | "promoted" | "rolled-back";
        };
        readonly RolloutRequest: {
            /** @description The version to try: the canary. */
            readonly version: string;
            /** @description The version that all other callers get. It can be left out when an earlier rollout decided it, or when only one other version has a weight in models.yaml. */
            readonly stable?: string | undefined;
            /** @description Per cent of the callers that get the canary. Left out: as before, and the first of `steps` for a new rollout. */
            readonly weight?: number | undefined;
            /**
             * @description What decides which version a caller gets: the API key (the default), the tenant, or every job by itself.
             * @enum {string}
             */
            readonly sticky_by?: ("key" | "tenant" | "job") | undefined;
            /** @description Whether Lehr rolls the canary back when its jobs fail more often or take longer. Left out: as before, and true for a new rollout. */
            readonly auto_rollback?: boolean | undefined;
            /** @description Lehr goes to the next step, and after the last one promotes the canary, when so many of its jobs have ended in a step and nothing speaks against it. Null: only on request. Left out: as before, and null for a new rollout. */
            readonly promote_after?: (number | null) | undefined;
            /** @description The weights that `promote_after` leads through; 100, or the end of the list, is the promotion. Left out: as before, and none for a new rollout. A new rollout without a weight begins with the first one. */
            readonly steps?: readonly number[] | undefined;
            /** @description Why, for people: it is kept in the history. */
            readonly reason?: string | undefined;
        };
        readonly RolloutChange: {
            /**
             * @description `paused`: new jobs get the stable version until it is `running` again, with the same callers. `promoted`: all get the canary, which is the stable version of the next rollout. `rolled-back`: all get the stable version.
             * @enum {string}
             */
            readonly state: "running" | "paused" | "promoted" | "rolled-back";
            /** @description Why, for people: it is kept in the history. */
            readonly reason?: string | undefined;
            /** @description The id of the rollout that is meant: the request is refused when the model has another one by now. Left out: the one that it has. */
            readonly rollout?: string | undefined;
        };
        readonly PauseList: {
            /** @enum {string} */
            readonly object: "list";
            readonly data: readonly components["schemas"]["Pause"][];
        };
        readonly Pause: {
            /** @enum {string} */
            readonly object: "pause";
            /** @description `name`, `name@version`, or `*` for all models. Null for the pause of a tenant. */
            readonly model: string | null;
            /**
             * @description Null for the pause of a model.
             * @default null
             */
            readonly tenant?: (string | null) | undefined;
            /**
             * @description What becomes of new jobs: `accepted` ones wait, within the limits of their callers; `refused` ones get 503 `unavailable`.
             * @enum {string}
             */
            readonly submissions: "accepted" | "refused";
            readonly now: boolean;
            /** @description Why, for people. */
            readonly reason: string | null;
            /** Format: date-time */
            readonly at: string;
            /** @description The id of the key; `root` is the configured key. */
            readonly by: string;
        };
        readonly PauseRequest: {
            /**
             * @description What becomes of new jobs: `accepted` ones wait, within the limits of their callers; `refused` ones get 503 `unavailable`.
             * @default accepted
             * @enum {string}
             */
            readonly submissions?: ("accepted" | "refused") | undefined;
            /**
             * @description What runs goes back to its queue too, with a checkpoint where one can be kept. Else it runs to its end.
             * @default false
             */
            readonly now?: boolean | undefined;
            /** @description Why, for people. */
            readonly reason?: string | undefined;
        };
        readonly NewKey: {
            readonly id: string;
            /** @enum {string} */
            readonly object: "key";
            readonly tenant: string;
            readonly name: string;
            /** @description How the key begins. */
            readonly prefix: string;
            readonly scopes: readonly ("submit" | "read" | "cancel" | "scale" | "admin")[];
            readonly limits: components["schemas"]["KeyLimits"];
            readonly usage: components["schemas"]["StorageUsage"];
            /** @description False when this API has no pepper (LEHR_KEY_PEPPER) that the key was made with: it is refused. Revoke it and create another one. */
            readonly usable: boolean;
            /** Format: date-time */
            readonly created_at: string;
            /** Format: date-time */
            readonly expires_at: string | null;
            /**
             * Format: date-time
             * @description To the minute.
             */
            readonly last_used_at: string | null;
            /** @description The key itself. It is shown only this once and not stored. */
            readonly key: string;
        };
        readonly KeyLimits: {
            /** @description The tenant's unfinished jobs, waiting and running together, with all nodes of its workflows. */
            readonly max_jobs: number | null;
            /** @description Those of them that wait. */
            readonly max_queued: number | null;
            /** @description Estimated engine seconds that the jobs of this key may cost per minute. The budget refills steadily; a job that costs more than is left is accepted and the rest is owed. */
            readonly cost_per_minute_s: number | null;
            /** @description Job requests and uploads, counted by each API process separately before it reads their body. */
            readonly requests_per_minute: number | null;
            /** @description Open streams of job events, counted by each API process separately. */
            readonly max_streams: number | null;
            /** @description How much of the longest wait (LEHR_MAX_WAIT_S) the tenant's waiting jobs may fill, of all classes together, so that the others still find room. A tenant without a waiting job may always make one. */
            readonly max_backlog_share: number | null;
            /** @description Megabytes of the tenant's uploads, files and audio inside requests, that are stored at once. Outputs do not count. */
            readonly max_stored_mb: number | null;
            /** @description Megabytes that the tenant uploads in 24 hours. */
            readonly upload_mb_per_day: number | null;
            /** @description The tenant's batches that have not ended. */
            readonly max_batches: number | null;
            /** @description Lines of one of its batches. A file may have 50,000 and a sweep 100,000 in any case. */
            readonly max_batch_lines: number | null;
            /**
             * @description The most urgent class of its jobs. A request for a more urgent one is refused; a job without a class gets `standard`, or this class if it is less urgent.
             * @enum {string}
             */
            readonly max_priority: "interactive" | "standard" | "bulk";
            /**
             * @description What is done with pictures of this key that are found unsafe; null: as the model says. A less strict mode than that of the model counts only where models.yaml allows it (`safety.keys: any`). Of a model that has nothing to check pictures with, the key draws none, unless it is `off`.
             * @enum {string|null}
             */
            readonly safety: "off" | "mark" | "blur" | "refuse" | null;
            /** @description The tenant's share against other tenants with waiting jobs of the same class and group. */
            readonly weight: number;
        };
        /** @description Of the tenant, over all its keys. */
        readonly StorageUsage: {
            /** @description Counted against `max_stored_mb`. */
            readonly stored_mb: number;
            /** @description In the last 24 hours; counted against `upload_mb_per_day`. */
            readonly uploaded_mb: number;
        };
        readonly KeyRequest: {
            /** @description The tenant whose jobs the key creates and reads. */
            readonly tenant: string;
            /**
             * @description A label for people.
             * @default
             */
            readonly name?: string | undefined;
            /**
             * @description A part of the key, so that people see what it is for.
             * @default live
             */
            readonly env?: string | undefined;
            /**
             * @default [
             *       "submit",
             *       "read",
             *       "cancel"
             *     ]
             */
            readonly scopes?: readonly ("submit" | "read" | "cancel" | "scale" | "admin")[] | undefined;
            /**
             * Format: date-time
             * @description When the key expires.
             * @default null
             */
            readonly expires_at?: (string | null) | undefined;
            /** @default {} */
            readonly limits?: {
                /** @description The tenant's unfinished jobs, waiting and running together, with all nodes of its workflows. */
                readonly max_jobs?: (number | null) | undefined;
                /** @description Those of them that wait. */
                readonly max_queued?: (number | null) | undefined;
                /** @description Estimated engine seconds that the jobs of this key may cost per minute. The budget refills steadily; a job that costs more than is left is accepted and the rest is owed. */
                readonly cost_per_minute_s?: (number | null) | undefined;
                /** @description Job requests and uploads, counted by each API process separately before it reads their body. */
                readonly requests_per_minute?: (number | null) | undefined;
                /** @description Open streams of job events, counted by each API process separately. */
                readonly max_streams?: (number | null) | undefined;
                /** @description How much of the longest wait (LEHR_MAX_WAIT_S) the tenant's waiting jobs may fill, of all classes together, so that the others still find room. A tenant without a waiting job may always make one. */
                readonly max_backlog_share?: (number | null) | undefined;
                /** @description Megabytes of the tenant's uploads, files and audio inside requests, that are stored at once. Outputs do not count. */
                readonly max_stored_mb?: (number | null) | undefined;
                /** @description Megabytes that the tenant uploads in 24 hours. */
                readonly upload_mb_per_day?: (number | null) | undefined;
                /** @description The tenant's batches that have not ended. */
                readonly max_batches?: (number | null) | undefined;
                /** @description Lines of one of its batches. A file may have 50,000 and a sweep 100,000 in any case. */
                readonly max_batch_lines?: (number | null) | undefined;
                /**
                 * @description The most urgent class of its jobs. A request for a more urgent one is refused; a job without a class gets `standard`, or this class if it is less urgent.
                 * @enum {string}
                 */
                readonly max_priority?: ("interactive" | "standard" | "bulk") | undefined;
                /**
                 * @description What is done with pictures of this key that are found unsafe; null: as the model says. A less strict mode than that of the model counts only where models.yaml allows it (`safety.keys: any`). Of a model that has nothing to check pictures with, the key draws none, unless it is `off`.
                 * @enum {string|null}
                 */
                readonly safety?: ("off" | "mark" | "blur" | "refuse" | null) | undefined;
                /** @description The tenant's share against other tenants with waiting jobs of the same class and group. */
                readonly weight?: number | undefined;
            } | undefined;
        };
        readonly KeyList: {
            /** @enum {string} */
            readonly object: "list";
            readonly data: readonly components["schemas"]["Key"][];
        };
        readonly Key: {
            readonly id: string;
            /** @enum {string} */
            readonly object: "key";
            readonly tenant: string;
            readonly name: string;
            /** @description How the key begins. */
            readonly prefix: string;
            readonly scopes: readonly ("submit" | "read" | "cancel" | "scale" | "admin")[];
            readonly limits: components["schemas"]["KeyLimits"];
            readonly usage: components["schemas"]["StorageUsage"];
            /** @description False when this API has no pepper (LEHR_KEY_PEPPER) that the key was made with: it is refused. Revoke it and create another one. */
            readonly usable: boolean;
            /** Format: date-time */
            readonly created_at: string;
            /** Format: date-time */
            readonly expires_at: string | null;
            /**
             * Format: date-time
             * @description To the minute.
             */
            readonly last_used_at: string | null;
        };
        readonly KeyChange: {
            /** @description A label for people. */
            readonly name?: string | undefined;
            readonly scopes?: readonly ("submit" | "read" | "cancel" | "scale" | "admin")[] | undefined;
            /**
             * Format: date-time
             * @description When the key expires.
             */
            readonly expires_at?: (string | null) | undefined;
            readonly limits?: {
                /** @description The tenant's unfinished jobs, waiting and running together, with all nodes of its workflows. */
                readonly max_jobs?: (number | null) | undefined;
                /** @description Those of them that wait. */
                readonly max_queued?: (number | null) | undefined;
                /** @description Estimated engine seconds that the jobs of this key may cost per minute. The budget refills steadily; a job that costs more than is left is accepted and the rest is owed. */
                readonly cost_per_minute_s?: (number | null) | undefined;
                /** @description Job requests and uploads, counted by each API process separately before it reads their body. */
                readonly requests_per_minute?: (number | null) | undefined;
                /** @description Open streams of job events, counted by each API process separately. */
                readonly max_streams?: (number | null) | undefined;
                /** @description How much of the longest wait (LEHR_MAX_WAIT_S) the tenant's waiting jobs may fill, of all classes together, so that the others still find room. A tenant without a waiting job may always make one. */
                readonly max_backlog_share?: (number | null) | undefined;
                /** @description Megabytes of the tenant's uploads, files and audio inside requests, that are stored at once. Outputs do not count. */
                readonly max_stored_mb?: (number | null) | undefined;
                /** @description Megabytes that the tenant uploads in 24 hours. */
                readonly upload_mb_per_day?: (number | null) | undefined;
                /** @description The tenant's batches that have not ended. */
                readonly max_batches?: (number | null) | undefined;
                /** @description Lines of one of its batches. A file may have 50,000 and a sweep 100,000 in any case. */
                readonly max_batch_lines?: (number | null) | undefined;
                /**
                 * @description The most urgent class of its jobs. A request for a more urgent one is refused; a job without a class gets `standard`, or this class if it is less urgent.
                 * @enum {string}
                 */
                readonly max_priority?: ("interactive" | "standard" | "bulk") | undefined;
                /**
                 * @description What is done with pictures of this key that are found unsafe; null: as the model says. A less strict mode than that of the model counts only where models.yaml allows it (`safety.keys: any`). Of a model that has nothing to check pictures with, the key draws none, unless it is `off`.
                 * @enum {string|null}
                 */
                readonly safety?: ("off" | "mark" | "blur" | "refuse" | null) | undefined;
                /** @description The tenant's share against other tenants with waiting jobs of the same class and group. */
                readonly weight?: number | undefined;
            } | undefined;
        };
        readonly AuditList: {
            /** @enum {string} */
            readonly object: "list";
            readonly data: readonly components["schemas"]["AuditEntry"][];
            readonly next_cursor: string | null;
            readonly has_more: boolean;
        };
        readonly AuditEntry: {
            /** @enum {string} */
            readonly action: "key.created" | "key.changed" | "key.revoked" | "webhook-secret.created" | "webhook-secret.shown" | "webhook-secret.rotated" | "admin.refused" | "session.created" | "session.ended" | "session.refused" | "rollout.deployed" | "rollout.changed" | "rollout.paused" | "rollout.resumed" | "rollout.promoted" | "rollout.rolled-back" | "rollout.removed" | "pause.set" | "pause.ended" | "jobs.action-started" | "jobs.action-ended";
            /** @description The id of the key that made the request; `root` is the configured key, and `lehr` what Lehr decided about a rollout. Null: a request without a known key, or Lehr itself. */
            readonly actor: string | null;
            /** @description The tenant that the action is about; null when it is about none. */
            readonly tenant: string | null;
            /** @description The id of the key that was created, changed or revoked, or that a session is of; the model of a rollout, what was paused, or the id of a bulk action. */
            readonly target: string | null;
            /** @description The IP address that the request came from, as the API saw it. */
            readonly address: string | null;
            /** @description Fields with their new values; of `admin.refused` and `session.refused`, the count of refused requests. */
            readonly changes: {
                readonly [key: string]: unknown;
            };
            /** @description Rises with time. */
            readonly id: string;
            /** @enum {string} */
            readonly object: "audit_entry";
            /** Format: date-time */
            readonly at: string;
        };
        readonly SettingList: {
            /** @enum {string} */
            readonly object: "list";
            readonly data: readonly {
                readonly name: string;
                /** @description Null for a secret, and for what is not set. */
                readonly value: string | null;
                /** @description Also of secrets. A default counts as set. */
                readonly is_set: boolean;
                readonly is_secret: boolean;
                readonly description: string;
            }[];
        };
        readonly DeadLetters: {
            /** @enum {string} */
            readonly object: "dead-letters";
            /** @description At most 100 failed jobs of all tenants, newest failure first. Without their inputs and results. */
            readonly failed: readonly {
                readonly job: string;
                readonly tenant: string;
                /** @enum {string} */
                readonly type: "text-to-image" | "speech-to-text" | "speech-to-image" | "text-embedding" | "text-classification" | "fill-mask" | "token-classification" | "picture-transform" | "workflow";
                readonly model: string;
                /** @enum {string} */
                readonly code: "invalid-request" | "unauthenticated" | "forbidden" | "not-found" | "model-not-found" | "method-not-allowed" | "too-slow" | "conflict" | "gone" | "too-large" | "unsupported-media" | "invalid-input" | "idempotency-mismatch" | "rate-limited" | "overloaded" | "unavailable" | "hold-expired" | "internal" | "engine-crashed" | "engine-failed" | "numeric-error" | "out-of-memory" | "model-unavailable" | "storage-failed" | "attempts-exhausted" | "run-too-long" | "deadline-exceeded" | "invalid-audio" | "unsafe-picture" | "node-failed";
                readonly title: string;
                readonly attempts: number;
                /** Format: date-time */
                readonly failed_at: string;
            }[];
            /** @description For `?cursor=`; null on the last page. */
            readonly next_cursor: string | null;
            /** @description At most 100 jobs and workers that a process could not read. */
            readonly unreadable: readonly {
                readonly id: string;
                readonly at: string;
                readonly reason: string;
            }[];
        };
        readonly Traffic: {
            /** @enum {string} */
            readonly object: "traffic";
            /**
             * Format: date-time
             * @description When it was read; one reading serves all callers for a second.
             */
            readonly at: string;
            /** @description Seconds over which rates are measured, at most 10. Null until two readings exist: rates are null then. */
            readonly window_s: number | null;
            /** @description At most 32 API processes. */
            readonly apis: readonly {
                readonly id: string;
                readonly requests_per_s: number | null;
                /** @description Answers 4xx. */
                readonly refused_per_s: number | null;
                /** @description Answers 5xx. */
                readonly errors_per_s: number | null;
                /** @description Mean time to answer, with the time that a request is held. */
                readonly mean_ms: number | null;
            }[];
            /** @description At most 64. */
            readonly models: readonly {
                /** @description `name@version`. */
                readonly model: string;
                readonly waiting: number;
                readonly running: number;
                /** @description Age of the oldest waiting job; 0 when none waits. */
                readonly oldest_ms: number;
                /** @description Share of the callers that name no version and get this one, by its rollout or by the weights in models.yaml. Null for the only version of a model. */
                readonly share: number | null;
                readonly accepted_per_s: number | null;
                readonly refused_per_s: number | null;
            }[];
            /** @description At most 64. */
            readonly workers: readonly {
                readonly id: string;
                /** @enum {string} */
                readonly state: "serving" | "draining" | "quarantined";
                readonly models: readonly {
                    readonly model: string;
                    readonly claimed_per_s: number | null;
                    /** @description Mean time from the request for a job until it was claimed. */
                    readonly wait_ms: number | null;
                    readonly ended_per_s: number | null;
                    readonly failed_per_s: number | null;
                }[];
                /** @description Outputs written to the store. */
                readonly stored_per_s: number | null;
                /** @description Mean time of one, retries included. */
                readonly store_ms: number | null;
            }[];
            readonly more_workers: number;
            readonly receivers: {
                /** @description Webhook deliveries that are not finished. */
                readonly pending: number;
                readonly attempts_per_s: number | null;
                /** @description Attempts without a 2xx. */
                readonly failed_per_s: number | null;
                readonly mean_ms: number | null;
            };
        };
        readonly Usage: {
            /** @enum {string} */
            readonly object: "usage";
            /**
             * Format: date-time
             * @description When it was read; the last hour ends here.
             */
            readonly at: string;
            /** Format: date */
            readonly from: string;
            /** Format: date */
            readonly to: string;
            readonly by: readonly ("day" | "tenant" | "key" | "model")[];
            readonly currency: string | null;
            /** @description One for each value of the parts of `by` with ended jobs, in their order. */
            readonly rows: readonly {
                /**
                 * Format: date
                 * @description UTC.
                 */
                readonly day?: string | undefined;
                readonly tenant?: string | undefined;
                /** @description Id of the API key; null where none is known. */
                readonly key?: (string | null) | undefined;
                /** @description `name@version`. */
                readonly model?: (string | null) | undefined;
                /** @description Jobs that ended, also those that were deleted since. Nodes of workflows count, workflows do not. */
                readonly jobs: number;
                readonly succeeded: number;
                readonly failed: number;
                readonly canceled: number;
                readonly expired: number;
                /** @description Seconds of device time; of graph runs that jobs shared, their shares. Measured for jobs that succeeded. Estimated for pictures that went on from a checkpoint, and by their progress for jobs that were stopped while they ran. */
                readonly device_s: number;
                /** @description Of the device time, at the price now in force. Absent when the operator states none. */
                readonly price?: number | undefined;
            }[];
            readonly total: {
                /** @description Jobs that ended, also those that were deleted since. Nodes of workflows count, workflows do not. */
                readonly jobs: number;
                readonly succeeded: number;
                readonly failed: number;
                readonly canceled: number;
                readonly expired: number;
                /** @description Seconds of device time; of graph runs that jobs shared, their shares. Measured for jobs that succeeded. Estimated for pictures that went on from a checkpoint, and by their progress for jobs that were stopped while they ran. */
                readonly device_s: number;
                /** @description Of the device time, at the price now in force. Absent when the operator states none. */
                readonly price?: number | undefined;
            };
            /** @description What each tenant has now: for a key with the scope `admin`, at most 50 tenants, those with the most jobs first; else its own. */
            readonly tenants: readonly {
                readonly tenant: string;
                /** @description Jobs made in each of the last 24 hours, oldest first, of those whose records still exist. */
                readonly jobs_by_hour: readonly number[];
                readonly waiting: number;
                readonly running: number;
                /** @description Estimated engine time of its waiting jobs. */
                readonly waiting_ms: number;
                /** @description Its stored uploads. */
                readonly stored_mb: number;
            }[];
            readonly more_tenants: number;
        };
        readonly WebhookSecret: {
            /** Format: date-time */
            readonly created_at: string;
            /**
             * Format: date-time
             * @description When the secret stops signing; null for the current one.
             */
            readonly expires_at: string | null;
        };
        readonly ShownWebhookSecret: {
            readonly key: string;
            /** Format: date-time */
            readonly created_at: string;
        };
        readonly WebhookTestResult: {
            readonly webhook_id: string;
            readonly event: string;
            /** Format: date-time */
            readonly at: string;
            /** @description HTTP status of the answer; null when there was none. */
            readonly status: number | null;
            readonly ms: number;
            /** @description The first 1 kB of the body. */
            readonly answer: string;
            /** @description Why there was no answer. */
            readonly error: string | null;
            /** @description The answer was a 2xx. */
            readonly delivered: boolean;
        };
        readonly WebhookTestRequest: {
            /**
             * Format: uri
             * @description An https URL that the public Internet can reach, on port 443, without a user name.
             */
            readonly url: string;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    readonly listJobs: {
        readonly parameters: {
            readonly query?: {
                readonly status?: "scheduled" | "queued" | "running" | "succeeded" | "failed" | "canceled" | "expired";
                readonly type?: "text-to-image" | "speech-to-text" | "speech-to-image" | "text-embedding" | "text-classification" | "fill-mask" | "token-classification" | "picture-transform" | "workflow";
                /** @description `name` or `name@version`. */
                readonly model?: string;
                /** @description Of a failed job: its error has this code. */
                readonly error_code?: "invalid-request" | "unauthenticated" | "forbidden" | "not-found" | "model-not-found" | "method-not-allowed" | "too-slow" | "conflict" | "gone" | "too-large" | "unsupported-media" | "invalid-input" | "idempotency-mismatch" | "rate-limited" | "overloaded" | "unavailable" | "hold-expired" | "internal" | "engine-crashed" | "engine-failed" | "numeric-error" | "out-of-memory" | "model-unavailable" | "storage-failed" | "attempts-exhausted" | "run-too-long" | "deadline-exceeded" | "invalid-audio" | "unsafe-picture" | "node-failed";
                /** @description Made at this time or later. */
                readonly created_after?: string;
                /** @description Made before this time. */
                readonly created_before?: string;
                /** @description Words of the job: its text, that of a node, its texts or its transcript contain this. The letters a to z are found in any case. */
                readonly text?: string;
                /** @description Labels of the job with their values, as `metadata[order]=81`. With several, the job has all of them. */
                readonly metadata?: {
                    readonly [key: string]: string;
                };
                readonly limit?: number;
                /** @description `next_cursor` of the previous page. */
                readonly cursor?: string;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page. `Link` has the URL of the next one. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["JobList"];
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly createJob: {
        readonly parameters: {
            readonly query?: {
                /** @description Seconds to hold the response, at most 60, until the job has ended. */
                readonly wait?: number | null;
            };
            readonly header?: {
                /** @description Of your choice, new for every job: the same request sent again with it within 24 hours gets the same job. */
                readonly "idempotency-key"?: string;
                /** @description `wait=N` has the same effect as `?wait=N`. */
                readonly prefer?: string;
            };
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["JobRequest"];
            };
        };
        readonly responses: {
            /** @description The job has ended. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Job"];
                };
            };
            /** @description The job is queued or running; its URL is in `Location`. */
            readonly 202: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Job"];
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Model not found (`model-not-found`) */
            readonly 404: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Upload too slow (`too-slow`) */
            readonly 408: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Gone (`gone`) */
            readonly 410: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large (`too-large`) */
            readonly 413: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unsupported media type (`unsupported-media`) */
            readonly 415: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Invalid input (`invalid-input`), Idempotency key reused (`idempotency-mismatch`) */
            readonly 422: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests (`rate-limited`) */
            readonly 429: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Overloaded (`overloaded`), Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly getJob: {
        readonly parameters: {
            readonly query?: {
                /** @description Seconds to hold the response, at most 60, until the job has ended. */
                readonly wait?: number | null;
            };
            readonly header?: {
                /** @description The `ETag` you have; the response is 304 if the job still has that version. */
                readonly "if-none-match"?: string;
            };
            readonly path: {
                /** @description The id of the job. */
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The job. `ETag` is the version of what it shows; it changes before the links expire. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Job"];
                };
            };
            /** @description The job still has the version in `If-None-Match`. */
            readonly 304: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found (`not-found`) */
            readonly 404: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly deleteJob: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the job. */
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The job had not ended and is being cancelled; delete it again when it has ended. */
            readonly 202: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Job"];
                };
            };
            /** @description Nothing of the job is left. */
            readonly 204: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found (`not-found`) */
            readonly 404: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Conflict (`conflict`) */
            readonly 409: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large (`too-large`) */
            readonly 413: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The result could not be stored (`storage-failed`), Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly cancelJob: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the job. */
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The job has ended: it is canceled, or had ended before. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Job"];
                };
            };
            /** @description The worker that runs the job has been asked to stop it. */
            readonly 202: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Job"];
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found (`not-found`) */
            readonly 404: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large (`too-large`) */
            readonly 413: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly retryJob: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                /** @description Of your choice, new for every job: the same request sent again with it within 24 hours gets the same job. */
                readonly "idempotency-key"?: string;
            };
            readonly path: {
                /** @description The id of the job. */
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The new job is queued; its URL is in `Location`. */
            readonly 202: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Job"];
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Model not found (`model-not-found`), Not found (`not-found`) */
            readonly 404: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Conflict (`conflict`) */
            readonly 409: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Gone (`gone`) */
            readonly 410: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large (`too-large`) */
            readonly 413: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Invalid input (`invalid-input`), Idempotency key reused (`idempotency-mismatch`) */
            readonly 422: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests (`rate-limited`) */
            readonly 429: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Overloaded (`overloaded`), The result could not be stored (`storage-failed`), Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly followJob: {
        readonly parameters: {
            readonly query?: {
                /** @description The `id` of the last event you have. The header `Last-Event-ID` overrides it. */
                readonly after?: number | null;
                /** @description Whether to send previews of unfinished images, as `job.preview`. */
                readonly previews?: "true" | "false";
            };
            readonly header?: {
                /** @description Sent by browsers that reconnect: the stream continues after this event. */
                readonly "last-event-id"?: string;
            };
            readonly path: {
                /** @description The id of the job. */
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The events, as they happen. The schema is that of the `data` of each event, which is JSON. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "text/event-stream": components["schemas"]["JobEvent"];
                };
            };
            /** @description The job has ended and you have its last event: a browser does not reconnect. */
            readonly 204: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found (`not-found`) */
            readonly 404: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests (`rate-limited`) */
            readonly 429: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly followJobByLink: {
        readonly parameters: {
            readonly query: {
                /** @description The `id` of the last event you have. The header `Last-Event-ID` overrides it. */
                readonly after?: number | null;
                /** @description Whether to send previews of unfinished images, as `job.preview`. */
                readonly previews?: "true" | "false";
                readonly expires: string;
                readonly sig: string;
            };
            readonly header?: {
                /** @description Sent by browsers that reconnect: the stream continues after this event. */
                readonly "last-event-id"?: string;
            };
            readonly path: {
                /** @description The id of the job. */
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The events, as they happen. The schema is that of the `data` of each event, which is JSON. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "text/event-stream": components["schemas"]["JobEvent"];
                };
            };
            /** @description The job has ended and you have its last event: a browser does not reconnect. */
            readonly 204: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found (`not-found`) */
            readonly 404: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Gone (`gone`) */
            readonly 410: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests (`rate-limited`) */
            readonly 429: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly getWebhookLog: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the job. */
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Both lists are empty for a job without a webhook. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["DeliveryLog"];
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found (`not-found`) */
            readonly 404: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly redeliverWebhook: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the job. */
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The delivery is scheduled. */
            readonly 202: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Delivery"];
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found (`not-found`) */
            readonly 404: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Conflict (`conflict`) */
            readonly 409: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large (`too-large`) */
            readonly 413: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly getBatchWebhookLog: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the batch. */
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Both lists are empty for a job without a webhook. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["DeliveryLog"];
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found (`not-found`) */
            readonly 404: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly redeliverBatchWebhook: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the batch. */
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The delivery is scheduled. */
            readonly 202: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Delivery"];
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found (`not-found`) */
            readonly 404: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Conflict (`conflict`) */
            readonly 409: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large (`too-large`) */
            readonly 413: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly listJobActions: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The last hundred, of those that are still kept. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["JobActionList"];
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly createJobAction: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["JobActionRequest"];
            };
        };
        readonly responses: {
            /** @description With `dry_run`: how many jobs match. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["JobActionCount"];
                };
            };
            /** @description The action has begun. */
            readonly 202: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["JobAction"];
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Upload too slow (`too-slow`) */
            readonly 408: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large (`too-large`) */
            readonly 413: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unsupported media type (`unsupported-media`) */
            readonly 415: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Invalid input (`invalid-input`) */
            readonly 422: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests (`rate-limited`) */
            readonly 429: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Overloaded (`overloaded`), Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly getJobAction: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the action. */
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The action. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["JobAction"];
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found (`not-found`) */
            readonly 404: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly cancelJobAction: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the action. */
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description It ends soon, or had ended. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["JobAction"];
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found (`not-found`) */
            readonly 404: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large (`too-large`) */
            readonly 413: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly listBatches: {
        readonly parameters: {
            readonly query?: {
                readonly limit?: number;
                /** @description `last_id` of the previous page. */
                readonly after?: string;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["BatchList"];
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly createBatch: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["BatchRequest"];
            };
        };
        readonly responses: {
            /** @description The batch. The number of its jobs is known at once, except of a file, whose lines are read first. With `dry_run`, the estimate. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Batch"] | components["schemas"]["BatchEstimate"];
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found (`not-found`) */
            readonly 404: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Upload too slow (`too-slow`) */
            readonly 408: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Gone (`gone`) */
            readonly 410: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large (`too-large`) */
            readonly 413: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unsupported media type (`unsupported-media`) */
            readonly 415: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Invalid input (`invalid-input`) */
            readonly 422: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests (`rate-limited`) */
            readonly 429: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The result could not be stored (`storage-failed`), Overloaded (`overloaded`), Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly getBatch: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the batch. */
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The batch, with its counts so far. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Batch"];
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found (`not-found`) */
            readonly 404: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly getBatchZip: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the batch. */
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The zip, which is written while it is read. Its files are not compressed. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/zip": string;
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found (`not-found`) */
            readonly 404: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Conflict (`conflict`) */
            readonly 409: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Gone (`gone`) */
            readonly 410: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The result could not be stored (`storage-failed`), Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly cancelBatch: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the batch. */
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The batch, which is `cancelling` until its last job has ended. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Batch"];
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found (`not-found`) */
            readonly 404: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large (`too-large`) */
            readonly 413: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly retryBatch: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the batch. */
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The new batch. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Batch"];
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found (`not-found`) */
            readonly 404: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Conflict (`conflict`) */
            readonly 409: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large (`too-large`) */
            readonly 413: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests (`rate-limited`) */
            readonly 429: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The result could not be stored (`storage-failed`), Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly followBatch: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                /** @description Sent by browsers that reconnect. */
                readonly "last-event-id"?: string;
            };
            readonly path: {
                /** @description The id of the batch. */
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The events. The schema is that of the `data` of each, which is JSON. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "text/event-stream": components["schemas"]["BatchEvent"];
                };
            };
            /** @description The batch has ended and you have its last event. */
            readonly 204: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found (`not-found`) */
            readonly 404: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests (`rate-limited`) */
            readonly 429: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly listBatchLines: {
        readonly parameters: {
            readonly query?: {
                readonly limit?: number;
                /** @description `next_cursor` of the previous page. */
                readonly cursor?: string;
            };
            readonly header?: never;
            readonly path: {
                /** @description The id of the batch. */
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["BatchLineList"];
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found (`not-found`) */
            readonly 404: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Gone (`gone`) */
            readonly 410: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The result could not be stored (`storage-failed`), Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly listSchedules: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description All of them. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["ScheduleList"];
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly createSchedule: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["ScheduleRequest"];
            };
        };
        readonly responses: {
            /** @description The schedule. */
            readonly 201: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Schedule"];
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Upload too slow (`too-slow`) */
            readonly 408: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large (`too-large`) */
            readonly 413: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unsupported media type (`unsupported-media`) */
            readonly 415: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Invalid input (`invalid-input`) */
            readonly 422: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests (`rate-limited`) */
            readonly 429: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Overloaded (`overloaded`), Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly getSchedule: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the schedule. */
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The schedule. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Schedule"];
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found (`not-found`) */
            readonly 404: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly deleteSchedule: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the schedule. */
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description It makes no more jobs. */
            readonly 204: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found (`not-found`) */
            readonly 404: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large (`too-large`) */
            readonly 413: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly changeSchedule: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the schedule. */
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["ScheduleChange"];
            };
        };
        readonly responses: {
            /** @description The schedule. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Schedule"];
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found (`not-found`) */
            readonly 404: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Upload too slow (`too-slow`) */
            readonly 408: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large (`too-large`) */
            readonly 413: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unsupported media type (`unsupported-media`) */
            readonly 415: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Invalid input (`invalid-input`) */
            readonly 422: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Overloaded (`overloaded`), Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly getModel: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The model. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Model"];
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Model not found (`model-not-found`) */
            readonly 404: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly listFiles: {
        readonly parameters: {
            readonly query?: {
                readonly purpose?: "batch" | "vision" | "user_data" | "batch_output";
                /** @description By the time of creation. */
                readonly order?: "asc" | "desc";
                readonly limit?: number;
                /** @description `last_id` of the previous page. */
                readonly after?: string;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["OpenAiFileList"];
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found (`not-found`) */
            readonly 404: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly createFile: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "multipart/form-data": {
                    /**
                     * Format: binary
                     * @description The file.
                     */
                    readonly content?: string | undefined;
                    /** @description With `content`: a JSON object that is returned unchanged. */
                    readonly metadata?: string | undefined;
                    /**
                     * Format: binary
                     * @description In place of `content`, the file as the clients of OpenAI send it. With the purpose `batch` it may have 200 MiB.
                     */
                    readonly file?: string | undefined;
                    /**
                     * @description With `file`.
                     * @enum {string}
                     */
                    readonly purpose?: ("batch" | "vision" | "user_data") | undefined;
                };
            };
        };
        readonly responses: {
            /** @description The `file` is stored. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["OpenAiFile"];
                };
            };
            /** @description The `content` is stored. */
            readonly 201: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["File"];
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Upload too slow (`too-slow`) */
            readonly 408: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large (`too-large`) */
            readonly 413: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unsupported media type (`unsupported-media`) */
            readonly 415: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Invalid input (`invalid-input`) */
            readonly 422: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests (`rate-limited`) */
            readonly 429: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Overloaded (`overloaded`), The result could not be stored (`storage-failed`), Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly getFile: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The file, in the form in which it was sent. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["File"] | components["schemas"]["OpenAiFile"];
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found (`not-found`) */
            readonly 404: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly deleteFile: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A file with a purpose is deleted. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["OpenAiDeletedFile"];
                };
            };
            /** @description Another file is deleted. */
            readonly 204: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found (`not-found`) */
            readonly 404: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large (`too-large`) */
            readonly 413: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The result could not be stored (`storage-failed`), Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly getFileContent: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The bytes. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/octet-stream": string;
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found (`not-found`) */
            readonly 404: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Gone (`gone`) */
            readonly 410: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The result could not be stored (`storage-failed`), Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly listModels: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description All models. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["ModelList"];
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly listQueues: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Every group that has had a job recently. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["QueueList"];
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly getActivity: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The state of the last second. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Activity"];
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly getScale: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly pool: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The number, why it is this number, and what it was computed from. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Scale"];
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found (`not-found`) */
            readonly 404: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly getCharts: {
        readonly parameters: {
            readonly query?: {
                /** @description How far back. */
                readonly range?: "15m" | "1h" | "6h" | "24h" | "7d";
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The charts; none when no Prometheus is configured. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["ChartList"];
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly listRollouts: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description All rollouts. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["RolloutList"];
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly getRollout: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The name of the model in models.yaml, without a version. */
                readonly model: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The rollout. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Rollout"];
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found (`not-found`) */
            readonly 404: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly deployVersion: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The name of the model in models.yaml, without a version. */
                readonly model: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["RolloutRequest"];
            };
        };
        readonly responses: {
            /** @description The rollout. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Rollout"];
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Model not found (`model-not-found`) */
            readonly 404: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Upload too slow (`too-slow`) */
            readonly 408: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Conflict (`conflict`) */
            readonly 409: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large (`too-large`) */
            readonly 413: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unsupported media type (`unsupported-media`) */
            readonly 415: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Invalid input (`invalid-input`) */
            readonly 422: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Overloaded (`overloaded`), Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly removeRollout: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The name of the model in models.yaml, without a version. */
                readonly model: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description There is no rollout of this model any more. */
            readonly 204: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found (`not-found`) */
            readonly 404: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Conflict (`conflict`) */
            readonly 409: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large (`too-large`) */
            readonly 413: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly changeRollout: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The name of the model in models.yaml, without a version. */
                readonly model: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["RolloutChange"];
            };
        };
        readonly responses: {
            /** @description The rollout. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Rollout"];
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found (`not-found`) */
            readonly 404: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Upload too slow (`too-slow`) */
            readonly 408: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Conflict (`conflict`) */
            readonly 409: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large (`too-large`) */
            readonly 413: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unsupported media type (`unsupported-media`) */
            readonly 415: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Invalid input (`invalid-input`) */
            readonly 422: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Overloaded (`overloaded`), Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly listPauses: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description All pauses. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["PauseList"];
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly pauseModel: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description A model: `name` for all of its versions, or `name@version`; a tenant: `tenant:<name>`; or `*` for all models. */
                readonly target: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["PauseRequest"];
            };
        };
        readonly responses: {
            /** @description The pause. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Pause"];
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Model not found (`model-not-found`), Not found (`not-found`) */
            readonly 404: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Upload too slow (`too-slow`) */
            readonly 408: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large (`too-large`) */
            readonly 413: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unsupported media type (`unsupported-media`) */
            readonly 415: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Invalid input (`invalid-input`) */
            readonly 422: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Overloaded (`overloaded`), Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly resumeModel: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description A model: `name` for all of its versions, or `name@version`; a tenant: `tenant:<name>`; or `*` for all models. */
                readonly target: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description This pause is over. */
            readonly 204: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found (`not-found`) */
            readonly 404: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large (`too-large`) */
            readonly 413: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly listKeys: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description All keys. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["KeyList"];
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly createKey: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["KeyRequest"];
            };
        };
        readonly responses: {
            /** @description The key. It is shown only here. */
            readonly 201: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["NewKey"];
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Upload too slow (`too-slow`) */
            readonly 408: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large (`too-large`) */
            readonly 413: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unsupported media type (`unsupported-media`) */
            readonly 415: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Invalid input (`invalid-input`) */
            readonly 422: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Overloaded (`overloaded`), Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly revokeKey: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the key: its third part. */
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The key is revoked. */
            readonly 204: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found (`not-found`) */
            readonly 404: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large (`too-large`) */
            readonly 413: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly changeKey: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the key: its third part. */
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["KeyChange"];
            };
        };
        readonly responses: {
            /** @description The key, without its secret. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Key"];
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found (`not-found`) */
            readonly 404: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Upload too slow (`too-slow`) */
            readonly 408: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large (`too-large`) */
            readonly 413: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unsupported media type (`unsupported-media`) */
            readonly 415: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Invalid input (`invalid-input`) */
            readonly 422: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Overloaded (`overloaded`), Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly listAuditEntries: {
        readonly parameters: {
            readonly query?: {
                /** @description Entries about this tenant. */
                readonly tenant?: string;
                readonly action?: "key.created" | "key.changed" | "key.revoked" | "webhook-secret.created" | "webhook-secret.shown" | "webhook-secret.rotated" | "admin.refused" | "session.created" | "session.ended" | "session.refused" | "rollout.deployed" | "rollout.changed" | "rollout.paused" | "rollout.resumed" | "rollout.promoted" | "rollout.rolled-back" | "rollout.removed" | "pause.set" | "pause.ended" | "jobs.action-started" | "jobs.action-ended";
                readonly limit?: number;
                /** @description `next_cursor` of the previous page. */
                readonly cursor?: string;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page. `Link` has the URL of the next one. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["AuditList"];
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly listSettings: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description All settings, by name. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["SettingList"];
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly listDeadLetters: {
        readonly parameters: {
            readonly query?: {
                /** @description `next_cursor` of the previous page. */
                readonly cursor?: string;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page of failures. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["DeadLetters"];
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly getTraffic: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The traffic of the last seconds. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Traffic"];
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly getUsage: {
        readonly parameters: {
            readonly query?: {
                /** @description The first day, in UTC. Default: the last one. */
                readonly from?: string;
                /** @description The last day; at most 400 days. Default: today. */
                readonly to?: string;
                /** @description By what it is summed up: some of day, tenant, key, model, with commas. */
                readonly by?: string;
                /** @description Only this tenant. */
                readonly tenant?: string;
                /** @description Only jobs of the API key with this id. */
                readonly key?: string;
                /** @description Only this `name` or `name@version`. */
                readonly model?: string;
                /** @description Default: `csv` when the request has `Accept: text/csv`, else `json`. */
                readonly format?: "json" | "csv";
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The use of the tenants. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Usage"];
                    readonly "text/csv": string;
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly listWebhookSecrets: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description All secrets that sign now. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        /** @enum {string} */
                        readonly object: "list";
                        readonly data: readonly components["schemas"]["WebhookSecret"][];
                    };
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly showWebhookSecret: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The secret. */
            readonly 201: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["ShownWebhookSecret"];
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Conflict (`conflict`) */
            readonly 409: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large (`too-large`) */
            readonly 413: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly rotateWebhookSecret: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The new secret. It is shown only here. */
            readonly 201: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["ShownWebhookSecret"];
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Conflict (`conflict`) */
            readonly 409: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large (`too-large`) */
            readonly 413: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly testWebhook: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["WebhookTestRequest"];
            };
        };
        readonly responses: {
            /** @description The reply of the receiver, or why there was none. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["WebhookTestResult"];
                };
            };
            /** @description Invalid request (`invalid-request`) */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated (`unauthenticated`) */
            readonly 401: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed (`forbidden`) */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Upload too slow (`too-slow`) */
            readonly 408: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large (`too-large`) */
            readonly 413: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unsupported media type (`unsupported-media`) */
            readonly 415: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Invalid input (`invalid-input`) */
            readonly 422: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests (`rate-limited`) */
            readonly 429: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error (`internal`) */
            readonly 500: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Overloaded (`overloaded`), Temporarily unavailable (`unavailable`) */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly onJobEvent: {
        readonly parameters: {
            readonly query?: never;
            readonly header: {
                readonly "webhook-id": string;
                /** @description Unix seconds of this attempt. */
                readonly "webhook-timestamp": string;
                /** @description `v1,` and base64 of HMAC-SHA256 over `id.timestamp.body`; several are separated by spaces. */
                readonly "webhook-signature": string;
            };
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: {
            readonly content: {
                readonly "application/json": components["schemas"]["WebhookBody"];
            };
        };
        readonly responses: {
            /** @description Any 2xx: the event is delivered. */
            readonly 204: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Nothing more is sent to this URL. */
            readonly 410: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly onBatchEvent: {
        readonly parameters: {
            readonly query?: never;
            readonly header: {
                readonly "webhook-id": string;
                /** @description Unix seconds of this attempt. */
                readonly "webhook-timestamp": string;
                /** @description `v1,` and base64 of HMAC-SHA256 over `id.timestamp.body`; several are separated by spaces. */
                readonly "webhook-signature": string;
            };
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: {
            readonly content: {
                readonly "application/json": components["schemas"]["BatchWebhookBody"];
            };
        };
        readonly responses: {
            /** @description Any 2xx: the event is delivered. */
            readonly 204: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Nothing more is sent to this URL. */
            readonly 410: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
}
