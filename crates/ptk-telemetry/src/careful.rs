//! Prepares spans for export: secrets are removed from every text, and values
//! that spans can only carry as texts get the types of the conventions.

use std::borrow::Cow;
use std::time::Duration;

use opentelemetry::trace::Status;
use opentelemetry::{Array, KeyValue, StringValue, Value};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SpanData, SpanExporter};
use ptk_events::Redaction;

/// Attributes that are lists by the conventions.
const LISTS: [&str; 1] = ["gen_ai.response.finish_reasons"];

/// Exports spans without secrets.
#[derive(Debug)]
pub(crate) struct Careful<E> {
    exporter: E,
    redaction: Redaction,
}

impl<E> Careful<E> {
    pub(crate) const fn new(exporter: E, redaction: Redaction) -> Self {
        Self {
            exporter,
            redaction,
        }
    }

    fn clean(&self, span: &mut SpanData) {
        if let Cow::Owned(name) = self.redaction.apply(&span.name) {
            span.name = name.into();
        }
        for attribute in &mut span.attributes {
            self.clean_value(attribute);
        }
        if let Status::Error { description } = &mut span.status
            && let Cow::Owned(text) = self.redaction.apply(description)
        {
            *description = text.into();
        }
    }

    fn clean_value(&self, attribute: &mut KeyValue) {
        let Value::String(text) = &attribute.value else {
            return;
        };
        let text: StringValue = self.redaction.apply(text.as_str()).into_owned().into();
        attribute.value = if LISTS.contains(&attribute.key.as_str()) {
            Value::Array(Array::String(vec![text]))
        } else {
            Value::String(text)
        };
    }
}

impl<E: SpanExporter> SpanExporter for Careful<E> {
    async fn export(&self, mut batch: Vec<SpanData>) -> OTelSdkResult {
        for span in &mut batch {
            self.clean(span);
        }
        self.exporter.export(batch).await
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}
