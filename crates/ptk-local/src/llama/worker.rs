//! The thread of a model, and the queue of its requests.

use std::sync::mpsc;
use std::thread;

use llama_cpp_2::model::LlamaModel;
use ptk_llm::{Delta, Request};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::chat::Template;
use super::engine::Engine;
use super::generate::{self, Listener};
use super::load;
use super::settings::Settings;
use super::trouble::Trouble;

/// A request, and the channel for its reply. Dropping the receiver cancels it.
#[derive(Debug)]
pub(super) struct Job {
    request: Request,
    told: UnboundedSender<Result<Delta, Trouble>>,
}

impl Job {
    pub(super) fn new(request: Request) -> (Self, UnboundedReceiver<Result<Delta, Trouble>>) {
        let (told, hears) = unbounded_channel();
        (Self { request, told }, hears)
    }

    fn fail(&self, trouble: Trouble) {
        // The receiver may have been dropped.
        let _ = self.told.send(Err(trouble));
    }
}

impl Listener for UnboundedSender<Result<Delta, Trouble>> {
    fn tell(&self, delta: Delta) {
        let _ = self.send(Ok(delta));
    }

    fn listens(&self) -> bool {
        !self.is_closed()
    }
}

/// A handle to the thread, which ends when this is dropped.
#[derive(Debug)]
pub(super) struct Worker {
    jobs: mpsc::Sender<Job>,
}

impl Worker {
    pub(super) fn start(settings: Settings) -> std::io::Result<Self> {
        let (jobs, waiting) = mpsc::channel();
        let builder = thread::Builder::new().name("ptk-local".to_owned());
        builder.spawn(move || serve(&settings, &waiting))?;
        Ok(Self { jobs })
    }

    /// Queues a job; `false` if the thread has ended.
    pub(super) fn submit(&self, job: Job) -> bool {
        self.jobs.send(job).is_ok()
    }
}

/// Loads the model for the first job, and serves all jobs. If loading fails, it
/// is tried again for the next job.
fn serve(settings: &Settings, waiting: &mpsc::Receiver<Job>) {
    while let Ok(job) = waiting.recv() {
        match loaded(settings, &job) {
            Ok(model) => answer_with(settings, &model, job, waiting),
            Err(trouble) => job.fail(trouble),
        }
    }
}

fn loaded(settings: &Settings, job: &Job) -> Result<LlamaModel, Trouble> {
    let told = job.told.clone();
    let progress = settings.progress.clone();
    load::load(&settings.file, move |done| {
        progress.tell(done);
        !told.is_closed()
    })
}

/// Serves this job and all others. Dropping a job when it is done ends its
/// reply.
fn answer_with(settings: &Settings, model: &LlamaModel, first: Job, waiting: &mpsc::Receiver<Job>) {
    let window = settings.window(model.n_ctx_train());
    let threads = settings.worker_threads();
    let engine = Engine::new(&settings.file, model, window, threads, settings.prompts());
    let mut engine = match engine {
        Ok(engine) => engine,
        Err(trouble) => return first.fail(trouble),
    };
    let template = Template::of(model);
    let mut next = Ok(first);
    while let Ok(job) = next {
        let replied = answer(&mut engine, &template, &job);
        if let Err(trouble) = replied {
            job.fail(trouble);
        }
        drop(job);
        next = waiting.recv();
    }
}

fn answer(engine: &mut Engine<'_>, template: &Template, job: &Job) -> Result<(), Trouble> {
    let (request, told) = (&job.request, &job.told);
    if !request.tools.is_empty() {
        return Err(Trouble::Tools);
    }
    generate::reply(engine, template, request, told)
}
