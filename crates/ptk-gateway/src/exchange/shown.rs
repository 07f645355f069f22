//! Counts the tokens of a request, without asking the model.

use ptk_llm::Message;

use super::Exchange;
use super::plan::Plan;
use crate::failure::Failure;
use crate::route::Route;

impl Exchange<'_> {
    /// How many tokens the first request to the model would have.
    ///
    /// # Errors
    ///
    /// If there is no model, or it cannot be sent this request.
    pub(crate) async fn tokens(&self) -> Result<u64, Failure> {
        let models = &self.route.models;
        let first = models.first().and_then(|rank| models.get(rank));
        let candidate = first.ok_or_else(Route::no_model)?;
        let name = self.route.name_for(self.chat);
        candidate.learn(name).await;
        let memory = &*self.gateway.memory;
        let approach = candidate.cached_approach(name, self.gateway.mode, memory);
        let plan = Plan::new(self.gateway, self.chat, candidate, &approach, true);
        let request = plan.await?.request;
        let model = request.model.as_deref();
        let passthrough = candidate.provider().model();
        let counter = ptk_model::tokens_of(model.or(passthrough).or(Some(&self.chat.model)));
        let count = |text: &str| counter.count(text);
        let mut tokens = request.system.as_deref().map_or(0, count);
        for tool in request.tools.iter() {
            tokens += count(&tool.name) + count(&tool.description);
            tokens += count(&tool.parameters.to_string());
        }
        for message in request.turns() {
            tokens += count(message.text());
            if let Message::Assistant { calls, .. } = message {
                let calls = calls.iter();
                let calls = calls.map(|call| count(&call.name) + count(&call.args.to_json()));
                tokens += calls.sum::<u64>();
            }
        }
        Ok(tokens)
    }
}
